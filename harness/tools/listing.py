"""Looking around: names of a folder, paths that match, lines that match."""

from __future__ import annotations

from typing import Any

from harness.tool import Execution, Tool
from harness.tools.box import ToolBox, one_path, raised
from runners import Fault

__all__ = ["find_files_tool", "list_dir_tool", "search_text_tool"]

MOST_NAMES = 1000
MOST_MATCHES = 200

_PATH = {"type": "string", "minLength": 1, "description": "Folder in the workspace; '.' if absent."}
_MARKS = {"dir": "/", "link": "@", "fifo": "|", "socket": "=", "device": "%"}


def list_dir_tool(box: ToolBox) -> Tool:
    """The tool `list_dir`."""

    async def execute(arguments: dict[str, Any], _: Execution) -> dict[str, Any]:
        path = arguments.get("path", ".")
        found = await box.session.list_dir(box.inside(path), limit=MOST_NAMES)
        if isinstance(found, Fault):
            raise raised(found, path)
        names = [entry.name + _MARKS.get(entry.kind, "") for entry in found.entries]
        return {"path": path, "names": names, "total": found.total}

    def render(_: dict[str, Any], value: Any) -> str:  # noqa: ANN401
        missing = value["total"] - len(value["names"])
        lines = list(value["names"])
        if missing:
            lines.append(f"[{missing} of {value['total']} names left out]")
        return "\n".join(lines) or "[the folder is empty]"

    return Tool(
        name="list_dir",
        description="List the names in a folder, one a line; folders end with '/', links with '@'.",
        parameters={
            "type": "object",
            "properties": {"path": _PATH},
            "additionalProperties": False,
        },
        execute=execute,
        render=render,
        tier="read-only",
        concurrency_safe=True,
        paths=lambda arguments: one_path(box, arguments.get("path", ".")),
        facts=lambda value: {"path": value["path"], "total": value["total"]},
        in_box=True,
    )


def find_files_tool(box: ToolBox) -> Tool:
    """The tool `find_files`."""

    async def execute(arguments: dict[str, Any], _: Execution) -> dict[str, Any]:
        path = arguments.get("path", ".")
        pattern = arguments["pattern"]
        found = await box.session.find_files(pattern, box.inside(path), limit=MOST_NAMES)
        if isinstance(found, Fault):
            raise raised(found, path)
        return {"paths": list(found.paths), "complete": found.complete}

    def render(_: dict[str, Any], value: Any) -> str:  # noqa: ANN401
        lines = list(value["paths"])
        if not value["complete"]:
            lines.append(f"[only {len(lines)} are shown, there are more; narrow the pattern]")
        return "\n".join(lines) or "[no file matches]"

    return Tool(
        name="find_files",
        description="Find files below a folder by a glob such as '**/*.py'; paths, one a line.",
        parameters={
            "type": "object",
            "properties": {"pattern": {"type": "string", "minLength": 1}, "path": _PATH},
            "required": ["pattern"],
            "additionalProperties": False,
        },
        execute=execute,
        render=render,
        tier="read-only",
        concurrency_safe=True,
        paths=lambda arguments: one_path(box, arguments.get("path", ".")),
        facts=lambda value: {"found": len(value["paths"]), "complete": value["complete"]},
        in_box=True,
    )


def search_text_tool(box: ToolBox) -> Tool:
    """The tool `search_text`."""

    async def execute(arguments: dict[str, Any], _: Execution) -> list[dict[str, Any]]:
        path = arguments.get("path", ".")
        found = await box.session.search_text(
            arguments["pattern"],
            box.inside(path),
            regex=arguments.get("regex", False),
            glob=arguments.get("glob", "**"),
            limit=MOST_MATCHES,
        )
        if isinstance(found, Fault):
            raise raised(found, path)
        return [{"path": m.path, "line": m.line, "text": m.text} for m in found]

    def render(_: dict[str, Any], value: Any) -> str:  # noqa: ANN401
        lines = [f"{match['path']}:{match['line']}: {match['text']}" for match in value]
        if len(lines) >= MOST_MATCHES:
            lines.append(f"[only the first {len(lines)} are shown; narrow the search]")
        return "\n".join(lines) or "[no line matches]"

    return Tool(
        name="search_text",
        description=(
            "Search the text files below a folder for a text, or for a regular expression with "
            "regex=true; glob narrows the files. Lines as path:line: text."
        ),
        parameters={
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "minLength": 1},
                "path": _PATH,
                "regex": {"type": "boolean"},
                "glob": {"type": "string", "minLength": 1},
            },
            "required": ["pattern"],
            "additionalProperties": False,
        },
        execute=execute,
        render=render,
        tier="read-only",
        concurrency_safe=True,
        paths=lambda arguments: one_path(box, arguments.get("path", ".")),
        facts=lambda value: {"found": len(value)},
        in_box=True,
    )
