"""What came of a tool call: one frozen object, whatever happened."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from types import MappingProxyType
from typing import Any

__all__ = [
    "NO_FACTS",
    "Artifact",
    "ErrorInfo",
    "Failure",
    "FailureKind",
    "NotJsonError",
    "Success",
    "ToolResult",
    "freeze",
    "render_json",
    "render_text",
    "thaw",
]


class FailureKind(enum.StrEnum):
    """Classes of failure. The first two blame the request, the others what came after it."""

    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"
    DENIED = "denied"
    OVER_BUDGET = "over_budget"
    RAISED = "raised"
    TIMEOUT = "timeout"
    ABORTED = "aborted"
    INVALID_OUTPUT = "invalid_output"

    @property
    def prefix(self) -> str:
        """What the text for the model begins with."""
        return _PREFIXES[self]


_PREFIXES = {
    FailureKind.UNKNOWN_TOOL: "Unknown tool: ",
    FailureKind.INVALID_ARGUMENTS: "Invalid arguments: ",
    FailureKind.DENIED: "Denied: ",
    FailureKind.OVER_BUDGET: "Over budget: ",
    FailureKind.RAISED: "Failed: ",
    FailureKind.TIMEOUT: "Timed out: ",
    FailureKind.ABORTED: "Cancelled: ",
    FailureKind.INVALID_OUTPUT: "Invalid output: ",
}


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why a call failed.

    Attributes:
        kind: the class of failure.
        code: stable and upper-case: the kind, or a finer one (ABORTED_BEFORE_DISPATCH).
        type: the name of the exception, or of the kind in the style of one.
        message: one sentence, without the prefix.
    """

    kind: FailureKind
    code: str
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Artifact:
    """A text that was too long to show: where it is kept, and what proves it."""

    id: str
    size: int  # bytes of UTF-8
    digest: str  # sha256:...


@dataclass(frozen=True, slots=True)
class Success:
    """A body's own answer, on its way through the execute hooks."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure on its way through the hooks."""

    kind: FailureKind
    message: str
    type: str = ""
    code: str = ""

    def info(self) -> ErrorInfo:
        """The failure as the result states it."""
        code = self.code or self.kind.value.upper()
        words = self.kind.value.split("_")
        return ErrorInfo(self.kind, code, self.type or "".join(map(str.title, words)), self.message)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one form of every result.

    Attributes:
        tool: the name that the model called.
        call_id: the model's own id of the call.
        ok: whether there is a value.
        content: what the model reads.
        value: the canonical value, frozen; None on failure.
        error: why there is no value, or None.
        duration_seconds: of the body; 0.0 where none ran.
        contexts: notes for the model beside the result, in order.
        artifact: where the whole content is when it was cut.
        ends_run: the tool asked for the end of the run (`finish`).
    """

    tool: str
    call_id: str
    ok: bool
    content: str
    value: Any = None
    error: ErrorInfo | None = None
    duration_seconds: float = 0.0
    contexts: tuple[str, ...] = ()
    artifact: Artifact | None = None
    ends_run: bool = False
    facts: Mapping[str, Any] = field(default_factory=lambda: NO_FACTS)

    def to_dict(self) -> dict[str, Any]:
        """The plain form: ok, tool and result, or ok, tool, error_type and error."""
        if self.error is None:
            return {"ok": True, "tool": self.tool, "result": thaw(self.value)}
        return {
            "ok": False,
            "tool": self.tool,
            "error_type": self.error.type,
            "error": self.error.message,
        }


NO_FACTS: Mapping[str, Any] = MappingProxyType({})


class NotJsonError(ValueError):
    """A value that JSON cannot carry without loss."""


_SCALARS = frozenset({str, int, bool, type(None)})


def freeze(value: object, *, depth: int = 100) -> Any:  # noqa: ANN401 - any JSON value
    """A deep, unchangeable copy of a JSON value; NotJsonError when it is none."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is float:
        if not math.isfinite(value):  # type: ignore[arg-type]
            raise NotJsonError(f"{value} is not a JSON number")
        return value
    if not depth:
        raise NotJsonError("the value is nested too deeply")
    if isinstance(value, Mapping):
        return MappingProxyType({_key(k): freeze(v, depth=depth - 1) for k, v in value.items()})
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return tuple(freeze(item, depth=depth - 1) for item in value)
    if isinstance(value, enum.Enum):
        return freeze(value.value, depth=depth - 1)
    if is_dataclass(value) and not isinstance(value, type):
        return freeze(asdict(value), depth=depth - 1)
    if hasattr(value, "_asdict"):
        return freeze(value._asdict(), depth=depth - 1)
    if hasattr(value, "model_dump"):
        return freeze(value.model_dump(mode="json"), depth=depth - 1)
    raise NotJsonError(f"a {kind.__name__} is not a JSON value")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise NotJsonError(f"a key must be a text, not {key!r:.40}")
    return key


def thaw(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """A frozen value as plain dictionaries and lists."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    return value


def render_text(value: object) -> str:
    """The default text of a value: texts as they are, the rest as compact JSON, None as null."""
    return value if isinstance(value, str) else render_json(value)


def render_json(value: object) -> str:
    """The all-JSON text of a value: texts arrive quoted."""
    return json.dumps(thaw(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def joined(blocks: str | Sequence[str]) -> str:
    """The content of a rendering: one text, or several blocks a line apart."""
    return blocks if isinstance(blocks, str) else "\n".join(blocks)
