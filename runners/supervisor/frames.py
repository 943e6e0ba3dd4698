"""The bytes between the harness and a supervisor (decision 30). Read this before anything else.

Harness to box: a fixed header, big-endian, 12 bytes, then the payload.

    offset  size  field
    0       1     kind: one of SETUP OPEN DATA END CREDIT CANCEL PING CLOSE
    1       1     stream: 1 or 2 in CREDIT, else 0
    2       2     zero
    4       4     call: chosen by the harness, never used twice; 0 in SETUP, PING and CLOSE
    8       4     length of the payload: at most OPEN_MAX in SETUP and OPEN, else BODY_MAX

    kind    value  payload
    SETUP   1      values: what ``runners.setup.Setup`` says; once, first
    OPEN    2      values: (operation, request) begins a call
    DATA    3      input bytes of the call
    END     4      none: the input is complete
    CREDIT  5      4 bytes, big-endian: that many more output bytes of this stream may be sent
    CANCEL  6      none: end the call now
    PING    7      8 bytes, sent back as they are
    CLOSE   8      none: kill everything and leave

"Values" are None, bool, int, float, str, bytes, list, tuple and dict in marshal's format 2, which
every CPython reads without a module of its own (a JSON parser would double the start time).

Box to harness: an 8-byte head of two big-endian 4-byte lengths (head at most HEAD_MAX, body at
most BODY_MAX), a JSON object in ASCII, then the body as raw bytes.

    t       other keys                       body
    hello   version, facts                   none: the answer to SETUP
    fail    text                             none: SETUP could not be done, the box ends
    out     c (call), s (stream), at         output bytes; ``at`` is their offset in the stream,
                                             which only grows; a gap was not kept
    credit  c, n                             none: n more input bytes may be sent
    stop    c                                none: no more input is wanted
    done    c and the facts of the call      none: the last frame of the call
    pong    n                                none: the 8 bytes of PING as a number
    leave   text                             none: the box ends of its own accord

Each side may send WINDOW bytes per call and stream before the other side gives credit. Nothing
else is buffered, so neither side can be made to grow.
"""

from _struct import Struct

__all__ = [
    "BODY_MAX",
    "CANCEL",
    "CLOSE",
    "CREDIT",
    "DATA",
    "END",
    "HEAD_MAX",
    "OPEN",
    "OPEN_MAX",
    "PING",
    "SETUP",
    "VERSION",
    "WINDOW",
    "json_text",
    "pack",
    "reply",
]

VERSION = 1

SETUP, OPEN, DATA, END, CREDIT, CANCEL, PING, CLOSE = range(1, 9)

HEAD_MAX = 64 * 1024
BODY_MAX = 256 * 1024
OPEN_MAX = 8 * 1024 * 1024
WINDOW = 1024 * 1024

HEADER = Struct(">BBHII")
LENGTHS = Struct(">II")
NUMBER = Struct(">I")


def pack(kind: int, call: int = 0, payload: "bytes | memoryview" = b"", stream: int = 0) -> bytes:
    """One frame to the box."""
    return HEADER.pack(kind, stream, 0, call, len(payload)) + payload


def reply(head: str, body: "bytes | bytearray" = b"") -> bytes:
    """One frame to the harness; ``head`` is the text of a JSON object in ASCII."""
    return LENGTHS.pack(len(head), len(body)) + head.encode("ascii") + body


def json_text(value: object) -> str:
    r"""JSON in ASCII. Names of files keep their odd bytes as lone surrogates (``\udcNN``)."""
    if isinstance(value, str):
        return _quote(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, bytes):
        return _quote(value.decode("utf-8", "surrogateescape"))
    if isinstance(value, dict):
        pairs = [_quote(str(key)) + ":" + json_text(item) for key, item in value.items()]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([json_text(item) for item in value]) + "]"
    raise TypeError(type(value).__name__)


def _quote(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return '"' + text + '"'
    return '"' + "".join([_escape(char) for char in text]) + '"'


def _escape(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    code = ord(char)
    if 32 <= code < 127:
        return char
    if code < 0x10000:
        return "\\u%04x" % code
    code -= 0x10000
    return "\\u%04x\\u%04x" % (0xD800 | code >> 10, 0xDC00 | code & 0x3FF)
