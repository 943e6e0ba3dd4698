"""Replacing one exact, unique piece of a file."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from harness.tool import Execution, Tool, ToolError
from harness.tools.box import ToolBox, one_path, raised
from harness.tools.read_file import read_all
from runners import Fault

__all__ = ["edit_file_tool"]

_AROUND = 3  # lines shown before and after an edit

_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "description": "File in the workspace."},
        "old": {
            "type": "string",
            "minLength": 1,
            "description": "The exact text to replace; it must occur exactly once.",
        },
        "new": {"type": "string", "description": "What to put in its place."},
    },
    "required": ["path", "old", "new"],
    "additionalProperties": False,
}


def edit_file_tool(box: ToolBox) -> Tool:
    """The tool `edit_file`."""

    async def execute(arguments: dict[str, Any], _: Execution) -> dict[str, Any]:
        path = arguments["path"]
        before = await read_all(box, path)
        old = arguments["old"].encode("utf-8", "surrogateescape")
        new = arguments["new"].encode("utf-8", "surrogateescape")
        place = _only_place(path, before, old)
        after = before[:place] + new + before[place + len(old) :]
        expect = sha256(before).digest()
        done = await box.session.write_file(box.inside(path), after, expect=expect)
        if isinstance(done, Fault):
            raise raised(done, path)
        first = before.count(b"\n", 0, place) + 1
        return {"path": path, "line": first, "excerpt": _excerpt(after, place, len(new))}

    return Tool(
        name="edit_file",
        description=(
            "Replace a piece of a text file. `old` must occur exactly once, whitespace included; "
            "give enough lines around it to make it unique."
        ),
        parameters=_PARAMETERS,
        execute=execute,
        render=lambda _, v: f"edited {v['path']} at line {v['line']}:\n{v['excerpt']}",
        rules=_rules,
        tier="write",
        paths=lambda arguments: one_path(box, arguments["path"]),
        facts=lambda value: {"path": value["path"], "line": value["line"]},
        in_box=True,
    )


def _rules(arguments: dict[str, Any]) -> Iterable[str]:
    if arguments["old"] == arguments["new"]:
        yield "$.new: is the same as old"


def _only_place(path: str, text: bytes, old: bytes) -> int:
    place = text.find(old)
    if place < 0:
        squeezed = b"".join(old.split())
        close = squeezed and squeezed in b"".join(text.split())
        hint = "; it does with other whitespace: copy the lines exactly" if close else ""
        raise ToolError(f"{path}: `old` does not occur{hint}", type="NoMatch")
    if text.find(old, place + 1) >= 0:
        lines: list[str] = []
        at = place
        while at >= 0 and len(lines) < 10:
            lines.append(str(text.count(b"\n", 0, at) + 1))
            at = text.find(old, at + 1)
        where = f"on lines {', '.join(lines)}"
        raise ToolError(
            f"{path}: `old` occurs more than once ({where}); add lines around it",
            type="NotUnique",
        )
    return place


def _excerpt(text: bytes, place: int, length: int) -> str:
    lines = text.decode("utf-8", "replace").split("\n")
    first = text.count(b"\n", 0, place)
    last = text.count(b"\n", 0, place + length)
    start, end = max(first - _AROUND, 0), min(last + _AROUND + 1, len(lines))
    return "\n".join(f"{n + 1:>6}\t{lines[n]}" for n in range(start, end))
