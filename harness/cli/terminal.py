"""The one way to a terminal: what programs, models and files wrote cannot steer it.

Every line of the command line leaves through here. ``put`` and ``document`` are standard output,
``say`` and ``remark`` standard error; ``inline`` is for a text of others within a line of ours.
"""

from __future__ import annotations

import codecs
import os
import sys
from typing import IO

from harness.errors import HarnessError

__all__ = [
    "Escaper",
    "OutputError",
    "document",
    "inline",
    "open_standard_streams",
    "put",
    "raw_or_escaped",
    "remark",
    "say",
    "silence",
    "visible",
]

PLAIN = frozenset("\n\t")
BREAKS = {"\n": "\\n", "\t": "\\t"}


class OutputError(HarnessError):
    """Standard output takes no more, for another reason than that nobody reads it."""


def visible(text: str) -> str:
    """The text with control characters and direction marks written out; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(character if shown(character) else escape(character) for character in text)


def inline(text: object) -> str:
    """A text of others within one line of ours: line breaks and tabs are written out, too."""
    made = visible(str(text))
    for plain, written in BREAKS.items():
        made = made.replace(plain, written)
    return made


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
    try:
        if stream.isatty():
            stream.write(escaper.feed(data))
            stream.flush()
            return
        stream.flush()
        stream.buffer.write(data)  # type: ignore[attr-defined]
        stream.buffer.flush()  # type: ignore[attr-defined]
    except OSError as error:
        raise failed(stream, error) from None


def put(text: object) -> None:
    """A line, or several, on standard output."""
    write(visible(str(text)) + "\n")


def document(text: str) -> None:
    """A whole text that another program reads: as it is to a pipe or file, visible to people."""
    write(visible(text) if sys.stdout.isatty() else text)


def write(text: str) -> None:
    """Standard output; what is no character of its encoding is written out."""
    stream = sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except OSError as error:
        raise failed(stream, error) from None


def failed(stream: IO[str], error: OSError) -> Exception:
    """What a write that failed is to the command line; what is left to be written is dropped."""
    if isinstance(error, BrokenPipeError):
        return error
    silence(stream)
    return OutputError(f"standard output cannot be written: {error.strerror}")


def say(text: str) -> None:
    """A line for people, on standard error; nobody reading it is no reason to end differently."""
    try:
        sys.stderr.write(visible(text) + "\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def remark(text: object) -> None:
    """A remark of the program itself; only its first line begins like one, whoever wrote it."""
    say("stockade: " + str(text).replace("\n", "\n  "))


def silence(stream: IO[str]) -> None:
    """Let what is still to be written go nowhere, so that no later write fails either."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def open_standard_streams() -> None:
    """The null device in place of a standard stream that the caller closed.

    Otherwise the next file that is opened would take its number, and be written to as output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
            if null != number:
                os.dup2(null, number)
                os.close(null)
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
