"""Writing a file whole."""

from __future__ import annotations

from typing import Any

from harness.tool import Execution, Tool
from harness.tools.box import ToolBox, one_path, raised
from runners import Fault

__all__ = ["write_file_tool"]

_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "description": "File in the workspace."},
        "content": {"type": "string", "description": "All of its new text."},
    },
    "required": ["path", "content"],
    "additionalProperties": False,
}


def write_file_tool(box: ToolBox) -> Tool:
    """The tool `write_file`."""

    async def execute(arguments: dict[str, Any], _: Execution) -> dict[str, Any]:
        path = arguments["path"]
        data = arguments["content"].encode("utf-8", "surrogateescape")
        done = await box.session.write_file(box.inside(path), data)
        if isinstance(done, Fault):
            raise raised(done, path)
        return {"path": path, "size": done.size, "created": done.created}

    return Tool(
        name="write_file",
        description="Write a text file of the workspace whole; folders are made as needed.",
        parameters=_PARAMETERS,
        execute=execute,
        render=lambda _, v: (
            f"{'created' if v['created'] else 'replaced'} {v['path']} ({v['size']} bytes)"
        ),
        tier="write",
        paths=lambda arguments: one_path(box, arguments["path"]),
        facts=dict,
        in_box=True,
    )
