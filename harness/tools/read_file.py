"""Reading a text file, whole or by lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from harness.tool import Execution, Tool, ToolError
from harness.tools.box import ToolBox, one_path, raised
from runners import Fault

__all__ = ["read_file_tool"]

MOST_BYTES = 16 << 20
CHUNK = 1 << 20

_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "description": "File in the workspace."},
        "start_line": {"type": "integer", "minimum": 1, "description": "First line, from 1."},
        "end_line": {"type": "integer", "minimum": 1, "description": "Last line, included."},
        "numbers": {"type": "boolean", "description": "Put its number before each line."},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def read_file_tool(box: ToolBox) -> Tool:
    """The tool `read_file`."""

    async def execute(arguments: dict[str, Any], _: Execution) -> dict[str, Any]:
        path = arguments["path"]
        data = await read_all(box, path)
        if b"\0" in data[:8192]:
            raise ToolError(f"{path}: is not a text file", type="NotText")
        text, foreign = _decoded(data)
        lines = text.splitlines(keepends=True)
        first = arguments.get("start_line", 1)
        last = min(arguments.get("end_line", len(lines)), len(lines))
        if first > max(len(lines), 1):
            raise ToolError(f"{path}: has only {len(lines)} lines", type="NoSuchLine")
        shown = lines[first - 1 : last]
        value = {
            "path": path,
            "text": "".join(shown),
            "start_line": first,
            "end_line": first - 1 + len(shown),
            "total_lines": len(lines),
        }
        return {**value, "foreign_bytes": foreign} if foreign else value

    def render(arguments: dict[str, Any], value: Any) -> str:  # noqa: ANN401
        text = str(value["text"])
        if arguments.get("numbers"):
            lines = enumerate(text.splitlines(keepends=True), value["start_line"])
            text = "".join(f"{number:>6}\t{line}" for number, line in lines)
        foreign = value.get("foreign_bytes")
        if not foreign:
            return text
        end = "" if text.endswith("\n") else "\n"
        bytes_are = "1 byte of the file is" if foreign == 1 else f"{foreign} bytes of the file are"
        return f"{text}{end}[{bytes_are} not UTF-8; each is shown as \ufffd.]"

    return Tool(
        name="read_file",
        description=(
            "Read a text file of the workspace, whole or from start_line to end_line "
            "(counted from 1, both included)."
        ),
        parameters=_PARAMETERS,
        execute=execute,
        render=render,
        rules=_rules,
        tier="read-only",
        concurrency_safe=True,
        paths=lambda arguments: one_path(box, arguments["path"]),
        facts=lambda value: {k: value[k] for k in ("path", "start_line", "end_line")},
        in_box=True,
    )


def _rules(arguments: dict[str, Any]) -> Iterable[str]:
    if arguments.get("end_line", 1 << 62) < arguments.get("start_line", 1):
        yield "$.end_line: must not be before start_line"


def _decoded(data: bytes) -> tuple[str, int]:
    """The text, and how many bytes of it are no UTF-8; each of those becomes U+FFFD."""
    try:
        return data.decode("utf-8"), 0
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    known = re.sub("[\udc80-\udcff]", "\ufffd", text)
    return known, sum(1 for one in text if "\udc80" <= one <= "\udcff")


async def read_all(box: ToolBox, path: str, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file; ToolError when there is none or it is too large."""
    parts: list[bytes] = []
    offset = 0
    while True:
        got = await box.session.read_file(box.inside(path), offset=offset, limit=CHUNK)
        if isinstance(got, Fault):
            raise raised(got, path)
        if got.size > most:
            raise ToolError(f"{path}: has {got.size} bytes, more than {most}", type="TooLarge")
        parts.append(got.data)
        offset += len(got.data)
        if not got.data or offset >= got.size:
            return b"".join(parts)
