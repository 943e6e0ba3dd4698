"""The built-in tools. All but `finish` and `read_artifact` act inside a session."""

from __future__ import annotations

from harness.artifact import ArtifactStore
from harness.judge import Judge
from harness.tool import Tool
from harness.tools.apply_patch import apply_patch_tool
from harness.tools.box import ToolBox
from harness.tools.edit_file import edit_file_tool
from harness.tools.ending import finish_tool, read_artifact_tool
from harness.tools.listing import find_files_tool, list_dir_tool, search_text_tool
from harness.tools.read_file import read_file_tool
from harness.tools.run_command import run_command_tool
from harness.tools.write_file import write_file_tool
from policies import Limits
from runners import Session

__all__ = ["ToolBox", "builtin_tools"]


def builtin_tools(
    session: Session,
    policy: Judge,
    *,
    limits: Limits | None = None,
    artifacts: ArtifactStore | None = None,
) -> list[Tool]:
    """The tools for one session; `read_artifact` only where artifacts are kept."""
    box = ToolBox(session, policy, limits, artifacts)
    tools = [
        run_command_tool(box),
        read_file_tool(box),
        write_file_tool(box),
        edit_file_tool(box),
        apply_patch_tool(box),
        list_dir_tool(box),
        find_files_tool(box),
        search_text_tool(box),
    ]
    if artifacts is not None:
        tools.append(read_artifact_tool(artifacts))
    return [*tools, finish_tool()]
