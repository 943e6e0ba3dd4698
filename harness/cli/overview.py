"""The commands by name, and the text of ``stockade --help``.

Imports nothing: showing help should not cost the import of a command-line library.
"""

from __future__ import annotations

__all__ = ["COMMANDS", "overview"]

COMMANDS = {
    "run": ("harness.cli.run:run", "Run an agent on a task in a box and verify the result."),
    "batch": ("harness.cli.batch:batch", "Run many tasks and give one verdict."),
    "tasks": ("harness.cli.tasks:tasks", "Check, lint and begin tasks."),
    "exec": ("harness.cli.exec:exec_command", "Run one command in a box under a policy."),
    "policy": ("harness.cli.policy:policy", "Check, explain, test and compare policies."),
    "images": ("harness.cli.images:images", "Build, list and verify the images of boxes."),
    "models": ("harness.cli.models:models", "Check that a model answers."),
    "runs": ("harness.cli.runs:runs", "List, show and verify recorded runs."),
    "doctor": ("harness.cli.doctor:doctor", "Say which boxes work here, and why others do not."),
    "gc": ("harness.cli.gc:gc", "Remove what dead harnesses left behind."),
}
"""For each command where it lives and its line in the list."""

HEAD = """\
Usage: stockade [OPTIONS] COMMAND [ARGS]...

  Run untrusted coding work in boxes, under a policy.

  `stockade COMMAND --help` explains a command. All commands take --json.

Options:
  --version  Show the version and exit.
  --help     Show this message and exit.

Commands:
"""


def overview() -> str:
    """What ``stockade --help`` prints."""
    width = max(map(len, COMMANDS))
    rows = [f"  {name:{width}}  {summary}\n" for name, (_, summary) in COMMANDS.items()]
    return HEAD + "".join(rows)
