"""What a tool is: a name for the model, a body for the harness, a rendering for both."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from harness.errors import RegistrationError
from harness.model import ToolDefinition
from harness.result import ToolResult
from harness.schema import Schema
from harness.signal import Signal

__all__ = ["Execution", "Tool", "ToolError", "as_tool", "define_tool"]

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
"""Names that every provider takes."""


class ToolError(Exception):
    """A failure that a body expects: its message goes to the model as it is.

    Args:
        message: one sentence that helps the model; no host paths.
        type: names the failure for programs, like the class of an exception.
    """

    def __init__(self, message: str, *, type: str = "ToolError") -> None:  # noqa: A002
        super().__init__(message)
        self.type = type


class Execution:
    """What a body knows of its call, and may do beside returning a value.

    Attributes:
        call_id: the model's own id of the call.
        tool: the tool's name.
        step: the step that the call belongs to.
        plan: what the tool's ``prepare`` made, or None.
        contexts: the notes so far.
        refused: the body sets it where a part of its work was denied; for the run's tally.
    """

    __slots__ = ("_own", "_run", "call_id", "contexts", "plan", "refused", "step", "tool")

    def __init__(self, call_id: str, tool: str, step: int, signal: Signal) -> None:
        self.call_id = call_id
        self.tool = tool
        self.step = step
        self.plan: Any = None
        self.contexts: list[str] = []
        self.refused = False
        self._run = signal
        self._own: Signal | None = None

    @property
    def signal(self) -> Signal:
        """Cancelled when the result is no longer wanted; long bodies check it."""
        if self._own is None:
            self._own = self._run.child()  # few bodies look, so it is made for those
        return self._own

    def begin(self, signal: Signal) -> None:
        """Follow this signal from now on: another start of the body begins."""
        self.end()
        self._run = signal

    def end(self, reason: str | None = None) -> None:
        """The start is over; with a reason, whoever looks at its signal is told to stop."""
        own, self._own = self._own, None
        if own is not None:
            own.release()
            if reason is not None:
                own.cancel(reason)

    def note(self, text: str) -> None:
        """Tell the model something beside the result; dropped when the result is blocked."""
        self.contexts.append(text)


Body = Callable[[Any, Execution], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool: a face for the model, a body and a rendering.

    Attributes:
        name: an ASCII letter, then letters, digits, ``_`` and ``-``; 64 characters at most.
        description: the very text by which the model chooses.
        parameters: JSON Schema of the arguments, in the subset of :mod:`harness.schema`.
        execute: the body; takes the arguments and an Execution, plainly or as a coroutine.
        output: JSON Schema of the value, or None for any JSON value.
        render: content for the model from arguments and value; texts as they are, the rest as
            JSON, where None.
        rules: the second layer of validation: sentences on what is wrong with valid arguments.
        parse: makes what the body sees from valid arguments (a typed object).
        tier: a label for approval policies, never sent to the model; None is unknown, and
            counts as the most dangerous.
        timeout_seconds: for one start of the body; the pipeline's where None.
        concurrency_safe: whether calls may overlap with each other, also by their arguments.
        paths: the workspace paths among the arguments, for the policy's ``[tools]`` lines; each
            group is judged by itself.
        prepare: judges the call in place of ``[tools]``: a coroutine that returns a Verdict and
            what the body gets as ``execution.plan``.
        unjudged: needs no line in the policy (`finish`).
        finalize: changes the content of any result, last of all.
        facts: what the log keeps of a value beside its content.
        ends_run: a success ends the run; its value is the answer.
        inline: run a plain function on the event loop instead of a thread; for quick ones.
        in_box: the body acts only inside the session, so that it may be run again on resume.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    execute: Body
    output: Mapping[str, Any] | None = None
    render: Callable[[Any, Any], str | Sequence[str]] | None = None
    rules: Callable[[Any], Iterable[str]] | None = None
    parse: Callable[[dict[str, Any]], Any] | None = None
    tier: str | None = None
    timeout_seconds: float | None = None
    concurrency_safe: bool | Callable[[Any], bool] = False
    paths: Callable[[Any], Sequence[Sequence[str]]] | None = None
    prepare: Callable[[Any, Execution], Any] | None = None
    unjudged: bool = False
    finalize: Callable[[ToolResult], str] | None = None
    facts: Callable[[Any], Mapping[str, Any]] | None = None
    ends_run: bool = False
    inline: bool = False
    in_box: bool = False

    @property
    def definition(self) -> ToolDefinition:
        """The model's face: name, description and parameters, nothing else."""
        return ToolDefinition(self.name, self.description, self.parameters)

    def faults(self) -> list[str]:
        """What keeps this definition from being registered."""
        found = []
        name: object = self.name
        if not isinstance(name, str) or not NAME.fullmatch(name):
            found.append(
                "the name must be an ASCII letter, then letters, digits, '_' or '-' (64 at most)"
            )
        description: object = self.description
        if not isinstance(description, str) or not description.strip():
            found.append("it has no description")
        if not callable(self.execute):
            found.append("execute is not callable")
        for name in ("render", "rules", "parse", "paths", "prepare", "finalize", "facts"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                found.append(f"{name} is not callable")
        found.extend(self._schema_faults())
        limit: object = self.timeout_seconds
        if limit is not None and not (isinstance(limit, int | float) and 0 < limit < float("inf")):
            found.append("timeout_seconds must be a positive, finite number")
        return found

    def _schema_faults(self) -> list[str]:
        found = []
        parameters: object = self.parameters
        if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
            found.append("parameters must be a schema of type object")
            return found
        try:
            Schema(self.parameters, what="parameters")
            if self.output is not None:
                Schema(self.output, what="output")
        except RegistrationError as error:
            found.append(str(error))
        return found


_FIELDS = tuple(f.name for f in fields(Tool))
_NEEDED = ("name", "description", "parameters", "execute")


def as_tool(candidate: object) -> Tool:
    """A Tool from a Tool, or from an object with its attributes (the class form)."""
    if isinstance(candidate, Tool):
        made = candidate
    else:
        missing = [name for name in _NEEDED if getattr(candidate, name, None) is None]
        if missing:
            label = getattr(candidate, "name", None) or type(candidate).__name__
            raise RegistrationError(f"tool {label!r}: it has no {', no '.join(missing)}")
        found = {n: getattr(candidate, n) for n in _FIELDS if hasattr(candidate, n)}
        made = Tool(**found)
    faults = made.faults()
    if faults:
        raise RegistrationError(f"tool {made.name!r}: " + "; ".join(faults))
    return made


def define_tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:  # noqa: ANN401
    """Make a Tool from a function: the decorator form.

    Name and description come from the function, the parameters from its type hints; a parameter
    annotated ``Execution`` receives it. Every field of Tool can be set by keyword.

        @define_tool
        async def add(a: int, b: int) -> int:
            '''Add two numbers.'''
            return a + b
    """
    from harness.signature import tool_of  # pydantic takes its time; only authors pay it

    around = sys._getframe(1).f_locals  # noqa: SLF001 - hints may name what only the caller has
    if function is None:
        return lambda inner: tool_of(inner, settings, around)
    return tool_of(function, settings, around)
