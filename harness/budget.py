"""What a run may spend, and the ledger of what it spent."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from harness.errors import ConfigError
from harness.model import Usage

if TYPE_CHECKING:
    from policies import Budgets

__all__ = ["Budget", "BudgetError", "Ledger", "Spent"]


class BudgetError(ConfigError, ValueError):
    """A budget that is out of range; the run does not start."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one run may spend. Nothing here is unlimited but what only a provider can count.

    Attributes:
        steps: model generations.
        tool_calls: starts of a body, over all steps; retries count.
        wall_seconds: from the start of the first turn.
        per_tool: starts of single tools; reaching one refuses that tool, the run goes on.
        tokens: as reported by the provider; never estimated.
        cost: as reported by the provider, in its currency.
    """

    steps: int = 50
    tool_calls: int = 200
    wall_seconds: float = 3600.0
    per_tool: Mapping[str, int] = field(default_factory=dict)
    tokens: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for name in ("steps", "tool_calls"):
            _whole(name, getattr(self, name))
        for tool, count in self.per_tool.items():
            _whole(f"per_tool.{tool}", count)
        if self.tokens is not None:
            _whole("tokens", self.tokens)
        _positive("wall_seconds", self.wall_seconds)
        if self.cost is not None:
            _positive("cost", self.cost)

    @classmethod
    def of(
        cls, budgets: Budgets, *, tokens: int | None = None, cost: float | None = None
    ) -> Budget:
        """The budget that a policy sets."""
        return cls(
            steps=budgets.steps,
            tool_calls=budgets.tool_calls,
            wall_seconds=budgets.wall_seconds,
            per_tool=dict(budgets.per_tool),
            tokens=tokens,
            cost=cost,
        )


def _whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BudgetError(f"budget {name}: must be a whole number from 1, not {value!r}")


def _positive(name: str, value: object) -> None:
    number = float(value) if isinstance(value, int | float) else math.nan
    if isinstance(value, bool) or not math.isfinite(number) or number <= 0:
        raise BudgetError(f"budget {name}: must be a positive, finite number, not {value!r}")


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has spent; tokens and cost are None where no provider reported them."""

    steps: int = 0
    tool_calls: int = 0
    wall_seconds: float = 0.0
    per_tool: Mapping[str, int] = field(default_factory=dict)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The plain form; what nobody reported is absent."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in pairs if value is not None}


class Ledger:
    """Counts what a run spends against its budget.

    Promises:
     1. A start of a body is reserved before it happens, or does not happen.
     2. A total that is used up stays used up: ``tool_limit`` is then the run's status.
     3. What a provider does not report is not counted, and not invented.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.steps = 0
        self.tool_calls = 0
        self.exceeded: str | None = None
        self._per_tool: dict[str, int] = {}
        self._input: int | None = None
        self._output: int | None = None
        self._cost: float | None = None
        self._started: float | None = None

    def reset(self) -> None:
        """Begin anew, with the whole budget: for the next turn of a conversation."""
        fresh = Ledger(self.budget)
        for name, value in vars(fresh).items():
            setattr(self, name, value)

    def start(self) -> float:
        """Begin the run's time if it has not begun; returns the seconds that are left."""
        if self._started is None:
            self._started = time.monotonic()
        return self.budget.wall_seconds - (time.monotonic() - self._started)

    def refusal(self, tool: str) -> str | None:
        """Why one more start of a tool is not affordable, or None."""
        if self.exceeded == "token_limit":
            return "the run's budget of tokens or cost is spent"
        if self.tool_calls >= self.budget.tool_calls:
            return f"the run's limit of {_counted(self.budget.tool_calls, 'tool call')} is reached"
        cap = self.budget.per_tool.get(tool)
        if cap is not None and self._per_tool.get(tool, 0) >= cap:
            return f"the run's limit of {_counted(cap, 'call')} of {tool} is reached"
        return None

    def reserve(self, tool: str) -> str | None:
        """Take one start of a tool, or say why not; the total's end ends the run."""
        reason = self.refusal(tool)
        if reason is None:
            self.tool_calls += 1
            self._per_tool[tool] = self._per_tool.get(tool, 0) + 1
        elif self.tool_calls >= self.budget.tool_calls:
            self.exceeded = self.exceeded or "tool_limit"
        return reason

    def release(self, tool: str) -> None:
        """Give a reserved start back that did not happen."""
        self.tool_calls -= 1
        self._per_tool[tool] -= 1

    def report(self, usage: Usage | None) -> None:
        """Add what the provider reported of one reply."""
        if usage is None:
            return
        self._input = _sum(self._input, usage.input_tokens)
        self._output = _sum(self._output, usage.output_tokens)
        if usage.cost is not None:
            self._cost = (self._cost or 0.0) + usage.cost
        tokens = (self._input or 0) + (self._output or 0)
        over_tokens = self.budget.tokens is not None and tokens > self.budget.tokens
        over_cost = self.budget.cost is not None and (self._cost or 0.0) > self.budget.cost
        if over_tokens or over_cost:
            self.exceeded = self.exceeded or "token_limit"

    @property
    def spent(self) -> Spent:
        """What was spent so far."""
        started = self._started
        wall = 0.0 if started is None else time.monotonic() - started
        return Spent(
            steps=self.steps,
            tool_calls=self.tool_calls,
            wall_seconds=round(wall, 6),
            per_tool={name: count for name, count in self._per_tool.items() if count},
            input_tokens=self._input,
            output_tokens=self._output,
            cost=self._cost,
        )


def _sum(total: int | None, more: int | None) -> int | None:
    return total if more is None else (total or 0) + more


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
