"""For those who write tasks: what one needs, what is unwise in it, and a working start."""

from harness.task.authoring.lint import CODES, Finding, lint_task
from harness.task.authoring.needs import Need, needs_of
from harness.task.authoring.scaffold import write_task

__all__ = ["CODES", "Finding", "Need", "lint_task", "needs_of", "write_task"]
