"""The error tree of the harness; the number is the exit code of the command line.

    HarnessError (3)                our machinery failed
    ├── ConfigError (2)             a setting of the operator cannot be used
    │   └── ScriptError (2)         the script of a scripted model is not valid
    ├── RegistrationError (2)       a tool, hook, section or service cannot be registered
    ├── ServiceError (3)            a service was asked for that is not mounted
    ├── LogError (3)                the log cannot be written or continued; the run stops
    │   └── RecordError (2)         a log holds what is no record; it cannot be read on from there
    ├── PipelineError (3)           a scheduler defect; never the fault of a tool or a model
    └── ModelError (7)              the model failed; carries the untouched transcript
        ├── MalformedReplyError     a reply that cannot be used; nothing of it was kept
        └── ScriptExhaustedError    a scripted model was asked for more than it has

What a model or a tool does wrong is never one of these: it is a ToolResult.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.message import Message

__all__ = [
    "ConfigError",
    "HarnessError",
    "LogError",
    "MalformedReplyError",
    "ModelError",
    "PipelineError",
    "RecordError",
    "RegistrationError",
    "ScriptError",
    "ScriptExhaustedError",
    "ServiceError",
]


class HarnessError(Exception):
    """Our machinery failed."""

    exit_code = 3


class ConfigError(HarnessError):
    """A setting of the operator cannot be used."""

    exit_code = 2


class ScriptError(ConfigError):
    """The script of a scripted model is not valid; the message says where."""


class RegistrationError(HarnessError):
    """A tool, hook, prompt section or service cannot be registered as it is."""

    exit_code = 2


class ServiceError(HarnessError):
    """A service was asked for that is not mounted."""


class LogError(HarnessError):
    """The log cannot be written or continued; a run stops rather than go on unlogged."""


class RecordError(LogError):
    """A log holds what is no record of its schema; the message names the first."""

    exit_code = 2


class PipelineError(HarnessError):
    """The scheduler of tool calls contradicts itself."""


class ModelError(HarnessError):
    """The model failed.

    Attributes:
        transcript: the conversation as it was before the failed request; () where unknown.
        status: the HTTP status that a provider answered with, or None.
    """

    exit_code = 7

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.transcript: Sequence[Message] = ()
        self.status = status


class MalformedReplyError(ModelError):
    """A reply that cannot be used; nothing of it was kept."""


class ScriptExhaustedError(ModelError):
    """A scripted model was asked for one reply more than it has."""
