"""Names of files as text: bytes that are no UTF-8 survive, and people see them escaped."""

from __future__ import annotations

__all__ = ["shown", "to_bytes", "to_text"]


def to_text(name: bytes) -> str:
    """A name as text; odd bytes become lone surrogates, as Python does for paths."""
    return name.decode("utf-8", "surrogateescape")


def to_bytes(name: str) -> bytes:
    """The name as the file system has it."""
    return name.encode("utf-8", "surrogateescape")


def shown(name: str) -> str:
    """A name for people and logs: everything that does not print is escaped as hexadecimal."""
    if name.isprintable():
        return name
    return "".join(
        sign if sign.isprintable() else "".join(f"\\x{byte:02x}" for byte in to_bytes(sign))
        for sign in name
    )
