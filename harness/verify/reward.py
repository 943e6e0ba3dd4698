"""Reads the reward that a task's own ``tests/test.sh`` wrote."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from runners import Fault, Session

__all__ = ["Reward", "RewardError", "read_reward"]

MOST_BYTES = 1 << 20


class RewardError(Exception):
    """There is no reward that can be read; the verifier is broken, not the result."""


@dataclass(frozen=True, slots=True)
class Reward:
    """Values by name; a single number is called ``reward``."""

    values: tuple[tuple[str, float], ...]

    @property
    def single(self) -> float | dict[str, float]:
        """The number where there is one unnamed value, else all by name."""
        if len(self.values) == 1 and self.values[0][0] == "reward":
            return self.values[0][1]
        return dict(self.values)

    def shortfall(self, least: float | tuple[tuple[str, float], ...]) -> str:
        """What misses the bar (of all values, or of single ones by name), or nothing."""
        values = dict(self.values)
        bar = dict.fromkeys(values, least) if isinstance(least, float | int) else dict(least)
        for name, wanted in bar.items():
            if name not in values:
                return f"there is no {name}, which should be at least {wanted:g}"
            if values[name] < wanted:
                return f"{name} is {values[name]:g}, which is below {wanted:g}"
        return ""


async def read_reward(session: Session) -> Reward:
    """``verifier/reward.json`` below the logs root, else ``verifier/reward.txt``."""
    data = await read(session, "verifier/reward.json")
    if data is not None:
        return Reward(parse_json(data))
    data = await read(session, "verifier/reward.txt")
    if data is not None:
        return Reward((("reward", parse_number(data)),))
    raise RewardError("tests/test.sh wrote no $STOCKADE_LOGS/verifier/reward.txt or reward.json")


async def read(session: Session, path: str) -> str | None:
    """A file below the logs root; None where there is none."""
    found = await session.read_file(path, root="logs", limit=MOST_BYTES)
    if isinstance(found, Fault):
        if found.code == "not-found":
            return None
        raise RewardError(f"{path}: {found.message}")
    try:
        return found.data.decode()
    except UnicodeDecodeError:
        raise RewardError(f"{path}: is not UTF-8") from None


def parse_number(text: str) -> float:
    """One finite number."""
    try:
        value = float(text.strip())
    except ValueError:
        raise RewardError(f"reward.txt: {text.strip()[:80]!r} is not a number") from None
    return finite(value, "reward.txt")


def parse_json(text: str) -> tuple[tuple[str, float], ...]:
    """An object of finite numbers, or one number."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise RewardError("reward.json: is not JSON") from None
    if number(value):
        return (("reward", finite(value, "reward.json")),)
    if not isinstance(value, dict) or not value or not all(map(number, value.values())):
        raise RewardError("reward.json: must be an object whose values are numbers")
    return tuple((name, finite(item, f"reward.json: {name}")) for name, item in value.items())


def number(value: object) -> bool:
    """Whether a JSON value is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def finite(value: float, where: str) -> float:
    """The value, unless it is an infinity, not a number, or too large to be reckoned with."""
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise RewardError(f"{where}: must be finite")
    return found
