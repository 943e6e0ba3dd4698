"""What is asked: task folders in the Harbor layout, and bare instructions."""

from harness.task.below import read_below
from harness.task.error import Problem, TaskError
from harness.task.load import load_task
from harness.task.task import Check, Healthcheck, Kept, Place, Step, Task, task_of_instruction

__all__ = [
    "Check",
    "Healthcheck",
    "Kept",
    "Place",
    "Problem",
    "Step",
    "Task",
    "TaskError",
    "load_task",
    "read_below",
    "task_of_instruction",
]
