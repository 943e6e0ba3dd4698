"""How the log of a run is kept: what the operator's ``[record]`` table and environment say.

Nothing here comes from a task or a workspace: who is recorded does not choose what is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from harness.config import Config
from harness.errors import ConfigError
from harness.record import Fsync, Redactor, redactor
from policies import read_regular

__all__ = ["Recording", "read_key", "recording_of", "secret_names"]

SHORTEST_SECRET = 8
"""A shorter text is no secret, and hiding it would hide half of the log with it."""

SHORTEST_KEY = 16
"""Bytes; a shorter key can be guessed from the seal that it makes."""

PROVIDER_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")

_KINDS: dict[str, Any] = {
    "fsync": str,
    "rotate_mib": int,
    "key": str,
    "secrets": list,
    "patterns": list,
}


@dataclass(frozen=True, slots=True)
class Recording:
    """How a log is written.

    Attributes:
        fsync: when the disk is waited for.
        key: seals the log at its end.
        redact: takes out of a record what must not be written.
        rotate_bytes: go on in a new file when one has so many bytes.
    """

    fsync: Fsync = "end"
    key: bytes | None = None
    redact: Redactor | None = None
    rotate_bytes: int | None = None


def recording_of(config: Config, environ: Mapping[str, str], key: Path | None = None) -> Recording:
    """What the configuration says; ``key`` is the file that a flag names in its place."""
    table = config.record
    for name, value in table.items():
        _check(name, value)
    named = key or (Path(table["key"]).expanduser() if "key" in table else None)
    secrets = tuple(_secrets(config, environ))
    patterns = tuple(table.get("patterns", ()))
    mebibytes = table.get("rotate_mib")
    return Recording(
        fsync=cast("Fsync", table.get("fsync", "end")),
        key=read_key(named) if named else None,
        redact=redactor(secrets, patterns) if secrets or patterns else None,
        rotate_bytes=mebibytes << 20 if mebibytes else None,
    )


def read_key(path: Path) -> bytes:
    """The key in a file; a newline at its end does not count."""
    try:
        key = read_regular(path).rstrip(b"\r\n")
    except OSError as error:
        raise ConfigError(f"the key {path} cannot be read: {error.strerror}") from None
    if len(key) < SHORTEST_KEY:
        raise ConfigError(
            f"the key {path} is shorter than {SHORTEST_KEY} bytes; "
            "make one with: openssl rand -hex 32"
        )
    return key


def provider_keys(config: Config) -> Iterator[str]:
    """The names of variables that hold keys of model providers."""
    for table in config.models.values():
        name = table.get("key_env") if isinstance(table, Mapping) else None
        if isinstance(name, str):
            yield name
    yield from PROVIDER_KEYS


def secret_names(config: Config) -> frozenset[str]:
    """The names of variables whose values no record and no task may hold."""
    secrets = config.record.get("secrets", ())
    named = (name for name in secrets if isinstance(name, str)) if isinstance(secrets, list) else ()
    return frozenset((*provider_keys(config), *named))


def _secrets(config: Config, environ: Mapping[str, str]) -> Iterator[str]:
    """The values of variables that hold keys of providers, or that the operator names."""
    for name in provider_keys(config):
        yield from _long(environ.get(name, ""))
    for name in config.record.get("secrets", ()):
        value = environ.get(name, "")
        if value and len(value) < SHORTEST_SECRET:
            raise ConfigError(
                f"[record] secrets: {name} holds fewer than {SHORTEST_SECRET} characters; "
                "hiding so short a text would hide much else"
            )
        yield from _long(value)


def _long(value: str) -> Iterator[str]:
    if len(value) >= SHORTEST_SECRET:
        yield value


def _check(name: str, value: Any) -> None:  # noqa: ANN401 - whatever TOML holds
    wanted = _KINDS.get(name)
    if wanted is None:
        raise ConfigError(f"[record] {name}: unknown key; known are {', '.join(_KINDS)}")
    if not isinstance(value, wanted) or isinstance(value, bool):
        words = {str: "a text", int: "a whole number", list: "a list of texts"}[wanted]
        raise ConfigError(f"[record] {name}: must be {words}")
    if name == "fsync" and value not in get_args(Fsync):
        raise ConfigError(f"[record] fsync: {value!r} is none of {', '.join(get_args(Fsync))}")
    if name == "rotate_mib" and value < 1:
        raise ConfigError("[record] rotate_mib: must be at least 1")
    for one in value if wanted is list else ():
        if not isinstance(one, str) or not one:
            raise ConfigError(f"[record] {name}: must be a list of texts that are not empty")
        if name == "patterns":
            _check_pattern(one)


def _check_pattern(pattern: str) -> None:
    try:
        empty = re.compile(pattern).search("") is not None
    except re.error as error:
        raise ConfigError(f"[record] patterns: {pattern!r}: {error}") from None
    if empty:
        raise ConfigError(f"[record] patterns: {pattern!r} fits the empty text, and so everything")
