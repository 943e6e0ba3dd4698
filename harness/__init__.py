"""WHO asks: the agent loop, tools, the call pipeline, the record and the command line.

Names are loaded when they are first used, so that a command that needs few of them starts fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.action import Performed, perform
    from harness.agent import Agent
    from harness.approval import Answer, ApprovalRequest, Approver, CallableApprover, NoApprover
    from harness.artifact import ArtifactStore
    from harness.budget import Budget, Ledger, Spent
    from harness.bus import Events
    from harness.context import Transcript, Trimmer
    from harness.errors import (
        ConfigError,
        HarnessError,
        LogError,
        MalformedReplyError,
        ModelError,
        RegistrationError,
        ScriptError,
        ScriptExhaustedError,
        ServiceError,
    )
    from harness.hook import Accept, Allow, Ask, Block, CallInfo, Deny, Hooks
    from harness.loop import LoopResult, run_loop
    from harness.message import Assistant, Message, System, ToolCall, ToolMessage, User
    from harness.model import Model, ModelRequest, Reply, ToolDefinition, Usage
    from harness.models.scripted import ScriptedModel
    from harness.pipeline import Pipeline
    from harness.record import EventLog, read_events
    from harness.registry import Registry
    from harness.result import ToolResult
    from harness.signal import Signal
    from harness.tool import Execution, Tool, ToolError, define_tool
    from harness.tools import builtin_tools

_HOMES = {
    "harness.action": ("Performed", "perform"),
    "harness.agent": ("Agent",),
    "harness.approval": (
        "Answer",
        "ApprovalRequest",
        "Approver",
        "CallableApprover",
        "NoApprover",
    ),
    "harness.artifact": ("ArtifactStore",),
    "harness.budget": ("Budget", "Ledger", "Spent"),
    "harness.bus": ("Events",),
    "harness.context": ("Transcript", "Trimmer"),
    "harness.errors": (
        "ConfigError",
        "HarnessError",
        "LogError",
        "MalformedReplyError",
        "ModelError",
        "RegistrationError",
        "ScriptError",
        "ScriptExhaustedError",
        "ServiceError",
    ),
    "harness.hook": ("Accept", "Allow", "Ask", "Block", "CallInfo", "Deny", "Hooks"),
    "harness.loop": ("LoopResult", "run_loop"),
    "harness.message": ("Assistant", "Message", "System", "ToolCall", "ToolMessage", "User"),
    "harness.model": ("Model", "ModelRequest", "Reply", "ToolDefinition", "Usage"),
    "harness.models.scripted": ("ScriptedModel",),
    "harness.pipeline": ("Pipeline",),
    "harness.record": ("EventLog", "read_events"),
    "harness.registry": ("Registry",),
    "harness.result": ("ToolResult",),
    "harness.signal": ("Signal",),
    "harness.tool": ("Execution", "Tool", "ToolError", "define_tool"),
    "harness.tools": ("builtin_tools",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Accept",
    "Agent",
    "Allow",
    "Answer",
    "ApprovalRequest",
    "Approver",
    "ArtifactStore",
    "Ask",
    "Assistant",
    "Block",
    "Budget",
    "CallInfo",
    "CallableApprover",
    "ConfigError",
    "Deny",
    "EventLog",
    "Events",
    "Execution",
    "HarnessError",
    "Hooks",
    "Ledger",
    "LogError",
    "LoopResult",
    "MalformedReplyError",
    "Message",
    "Model",
    "ModelError",
    "ModelRequest",
    "NoApprover",
    "Performed",
    "Pipeline",
    "RegistrationError",
    "Registry",
    "Reply",
    "ScriptError",
    "ScriptExhaustedError",
    "ScriptedModel",
    "ServiceError",
    "Signal",
    "Spent",
    "System",
    "Tool",
    "ToolCall",
    "ToolDefinition",
    "ToolError",
    "ToolMessage",
    "ToolResult",
    "Transcript",
    "Trimmer",
    "Usage",
    "User",
    "builtin_tools",
    "define_tool",
    "perform",
    "read_events",
    "run_loop",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
