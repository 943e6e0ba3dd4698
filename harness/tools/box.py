"""What the built-in tools act in: a session under a policy."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from harness.artifact import ArtifactStore
from harness.judge import Judge
from harness.tool import ToolError
from policies import Limits
from runners import Fault, Session

__all__ = ["ToolBox", "one_path", "raised"]

_TYPES = {
    "not-found": "FileNotFound",
    "not-a-file": "NotAFile",
    "not-a-folder": "NotAFolder",
    "exists": "FileExists",
    "path-escape": "PathEscape",
    "too-large": "TooLarge",
    "busy": "Busy",
    "denied": "PermissionDenied",
    "no-space": "NoSpace",
    "loop": "LinkLoop",
    "name": "BadName",
    "changed": "FileChanged",
    "link": "IsALink",
}


@dataclass(frozen=True, slots=True)
class ToolBox:
    """A session with the policy that judges what is done in it.

    Attributes:
        session: the box.
        policy: judges commands; None where a pipeline judges the tools alone.
        limits: for single calls, beside the policy's own.
        artifacts: where long outputs are kept.
    """

    session: Session
    policy: Judge
    limits: Limits | None = None
    artifacts: ArtifactStore | None = None

    def inside(self, path: str) -> str:
        """A path as the session takes it: absolute ones below the workspace become relative.

        What lies outside stays as it is: the session refuses it by name.
        """
        for root in (self.session.paths["workspace"], "/workspace"):
            if path == root:
                return "."
            if path.startswith(root.rstrip("/") + "/"):
                return posixpath.relpath(path, root) if ".." not in path else path
        return path


def one_path(box: ToolBox, path: str) -> Sequence[Sequence[str]]:
    """The paths of a tool with a single one, for the policy."""
    return ((box.inside(path),),)


def raised(fault: Fault, path: str) -> ToolError:
    """A fault as the tool's failure, with the path as the model wrote it."""
    message = fault.message or fault.code
    text = message if path in message else f"{path}: {message}"
    return ToolError(text, type=_TYPES.get(fault.code, "FileFault"))
