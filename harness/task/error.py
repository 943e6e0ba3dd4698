"""What is wrong with a task: all of it at once, each with its file, its key and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import ConfigError

__all__ = ["Problem", "TaskError"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a task.

    Attributes:
        file: relative to the task folder.
        key: dotted key in that file; "" for the file as a whole.
        message: what is wrong.
        fix: what to write instead.
    """

    file: str
    key: str
    message: str
    fix: str

    def __str__(self) -> str:
        where = f"{self.file}: {self.key}" if self.key else self.file
        return f"{where}: {self.message}; {self.fix}"


class TaskError(ConfigError):
    """A task that cannot be run as it is."""

    def __init__(self, where: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"the task {where} cannot be run:\n{lines}")
