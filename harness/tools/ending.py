"""Tools that touch no box: ending the run, and reading what was too long to show."""

from __future__ import annotations

from typing import Any

from harness.artifact import ArtifactStore
from harness.tool import Execution, Tool, ToolError

__all__ = ["finish_tool", "read_artifact_tool"]

MOST_CHARACTERS = 20_000


def finish_tool() -> Tool:
    """The tool `finish`."""
    return Tool(
        name="finish",
        description="End the run when the work is done; `answer` says what was found or changed.",
        parameters={
            "type": "object",
            "properties": {"answer": {"type": "string"}},
            "additionalProperties": False,
        },
        execute=lambda arguments, _: arguments.get("answer", ""),
        tier="read-only",
        unjudged=True,
        ends_run=True,
        inline=True,
    )


def read_artifact_tool(store: ArtifactStore) -> Tool:
    """The tool `read_artifact`."""

    def execute(arguments: dict[str, Any], _: Execution) -> dict[str, Any]:
        text = store.read(arguments["id"])
        if text is None:
            raise ToolError(f"there is no artifact {arguments['id']!r:.80}", type="NoSuchArtifact")
        offset = arguments.get("offset", 0)
        piece = text[offset : offset + arguments.get("limit", MOST_CHARACTERS)]
        return {"text": piece, "offset": offset, "total": len(text)}

    def render(_: dict[str, Any], value: Any) -> str:  # noqa: ANN401
        end = value["offset"] + len(value["text"])
        left = value["total"] - end
        if left <= 0:
            return str(value["text"])
        return f"{value['text']}\n[{left} more characters: offset {end}]"

    return Tool(
        name="read_artifact",
        description="Read an output that was too long to show, by its id, in pieces of characters.",
        parameters={
            "type": "object",
            "properties": {
                "id": {"type": "string", "minLength": 1},
                "offset": {"type": "integer", "minimum": 0},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_CHARACTERS},
            },
            "required": ["id"],
            "additionalProperties": False,
        },
        execute=execute,
        render=render,
        tier="read-only",
        unjudged=True,
        concurrency_safe=True,
        facts=lambda value: {"offset": value["offset"], "total": value["total"]},
    )
