"""Applying a unified diff to several files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from harness.tool import Execution, Tool, ToolError
from harness.tools.box import ToolBox, raised
from harness.tools.patch import FilePatch, PatchError, apply_hunks, parse_patch
from harness.tools.read_file import read_all
from policies import PathCheck, Pipeline, Stage
from runners import Fault

__all__ = ["apply_patch_tool"]

_PARAMETERS = {
    "type": "object",
    "properties": {
        "patch": {
            "type": "string",
            "minLength": 1,
            "description": "A unified diff with a/ and b/ paths; /dev/null for a missing side.",
        },
    },
    "required": ["patch"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class _Change:
    """One file's new content; None removes it."""

    path: str
    before: bytes | None
    after: bytes | None


def apply_patch_tool(box: ToolBox) -> Tool:
    """The tool `apply_patch`."""

    async def execute(arguments: dict[str, Any], _: Execution) -> dict[str, Any]:
        changes: list[_Change] = []
        for patch in parse_patch(arguments["patch"]):
            changes += await _changes(box, patch)
        done: list[str] = []
        for change in changes:
            try:
                await _make(box, change)
            except ToolError as error:
                made = f"; already changed: {', '.join(done)}" if done else "; nothing was changed"
                raise ToolError(f"{error}{made}", type=error.type) from error
            done.append(change.path)
        return {
            "changed": [c.path for c in changes if c.after is not None and c.before is not None],
            "created": [c.path for c in changes if c.before is None],
            "removed": [c.path for c in changes if c.after is None],
        }

    def paths(arguments: dict[str, Any]) -> Sequence[Sequence[str]]:
        patches = parse_patch(arguments["patch"])
        return [(box.inside(path),) for patch in patches for path in patch.paths]

    return Tool(
        name="apply_patch",
        description=(
            "Apply a unified diff to files of the workspace. All of it must fit exactly, "
            "or nothing is changed."
        ),
        parameters=_PARAMETERS,
        execute=execute,
        render=lambda _, value: "\n".join(
            f"{word} {path}" for word in ("changed", "created", "removed") for path in value[word]
        ),
        rules=_rules,
        tier="write",
        paths=paths,
        facts=dict,
        in_box=True,
    )


def _rules(arguments: dict[str, Any]) -> Iterable[str]:
    try:
        parse_patch(arguments["patch"])
    except PatchError as error:
        yield f"$.patch: {error}"


async def _changes(box: ToolBox, patch: FilePatch) -> list[_Change]:
    """What a patch makes of its file; ToolError when it does not fit."""
    before = None if patch.old is None else await read_all(box, patch.old)
    if patch.old is None:
        assert patch.new is not None
        there = await box.session.read_file(box.inside(patch.new), limit=1)
        if not isinstance(there, Fault):
            raise ToolError(f"{patch.new}: exists already", type="FileExists")
    try:
        text = (before or b"").decode("utf-8", "surrogateescape")
        after = apply_hunks(text, patch).encode("utf-8", "surrogateescape")
    except PatchError as error:
        raise ToolError(f"{error}; nothing was changed", type="NoMatch") from error
    if patch.new is None:
        assert patch.old is not None
        if after:
            raise ToolError(f"{patch.old}: the patch removes it, but text is left", type="NoMatch")
        return [_Change(patch.old, before, None)]
    if patch.old in (None, patch.new):
        return [_Change(patch.new, before, after)]
    assert patch.old is not None
    return [_Change(patch.new, None, after), _Change(patch.old, before, None)]


async def _make(box: ToolBox, change: _Change) -> None:
    path = box.inside(change.path)
    if change.after is None:
        await _remove(box, change.path, path)
        return
    expect = None if change.before is None else sha256(change.before).digest()
    done = await box.session.write_file(path, change.after, expect=expect)
    if isinstance(done, Fault):
        raise raised(done, change.path)


async def _remove(box: ToolBox, shown: str, path: str) -> None:
    """Remove a file by the box's own `rm`; the session has no operation for it."""
    faults = await box.session.check([PathCheck(0, path, "file", writable=True)])
    if faults:
        raise ToolError(f"{shown}: {faults[0].message}", type="PathEscape")
    stage = Stage(("rm", "-f", "--", f"./{path}" if not path.startswith("/") else path))
    outcome = await box.session.run(Pipeline((stage,)))
    if not outcome.ok:
        raise ToolError(f"{shown}: could not be removed", type="FileFault")
