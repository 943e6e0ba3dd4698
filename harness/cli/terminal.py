"""What programs and models wrote, shown so that it cannot steer a terminal."""

from __future__ import annotations

import codecs
import os
import sys
from typing import IO

__all__ = ["Escaper", "raw_or_escaped", "say", "silence", "visible"]

PLAIN = frozenset("\n\t")


def visible(text: str) -> str:
    """The text with control characters written out; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(character if shown(character) else escape(character) for character in text)


def shown(character: str) -> bool:
    """Whether a character is harmless on a terminal."""
    return character in PLAIN or character == " " or character.isprintable()


def escape(character: str) -> str:
    r"""``\x1b`` for the escape character, and so on."""
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else "?"


class Escaper:
    """Turns a stream of bytes into visible text, whole characters at a time."""

    def __init__(self) -> None:
        self.decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """The text that is complete so far."""
        return visible(self.decoder.decode(data, final))


def raw_or_escaped(stream: IO[str], data: bytes, escaper: Escaper) -> None:
    """Write bytes as they are to a pipe or file, escaped to a terminal."""
    if stream.isatty():
        stream.write(escaper.feed(data))
        stream.flush()
        return
    stream.flush()
    stream.buffer.write(data)  # type: ignore[attr-defined]
    stream.buffer.flush()  # type: ignore[attr-defined]


def say(text: str) -> None:
    """A line for people, on standard error; nobody reading it is no reason to end differently."""
    try:
        sys.stderr.write(visible(text) + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        silence(sys.stderr)


def silence(stream: IO[str]) -> None:
    """Let what is still to be written go nowhere, so that no later write fails either."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
