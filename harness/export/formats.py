"""The formats by name, and the one door to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.errors import ConfigError
from harness.export.atif import atif
from harness.export.chat import messages, mini_trajectory
from harness.export.junit import junit
from harness.model import Reply
from harness.models.recording import script_of
from harness.recall import Recollection

__all__ = ["FORMATS", "Exported", "export"]


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export is made of: the run, its result and its patch."""

    run: Recollection
    result: Mapping[str, Any] = field(default_factory=dict)
    patch: str = ""


def export(name: str, source: Exported) -> str:
    """A run in one of :data:`FORMATS`, as text."""
    if name not in FORMATS:
        raise ConfigError(f"no format {name!r}: one of {', '.join(FORMATS)}")
    return FORMATS[name][1](source)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"


def _predictions(source: Exported) -> str:
    """SWE-bench `preds.json`: by instance the patch."""
    task = str(source.result.get("task") or source.run.start.get("task") or source.run.run)
    instance = task.rpartition("/")[2]
    model = str(source.run.start.get("model") or source.run.start.get("agent") or "stockade")
    entry = {
        "model_name_or_path": model,
        "instance_id": instance,
        "model_patch": source.patch,
    }
    return _json({instance: entry})


def _script(source: Exported) -> str:
    return script_of(_replies(source.run))


def _replies(run: Recollection) -> Sequence[Reply]:
    made: list[Reply] = []
    for step in run.steps:
        answer = step.assistant
        if answer is None or step.reply is None:
            continue
        made.append(Reply(answer.text, answer.calls, step.usage))
    return made


FORMATS: dict[str, tuple[str, Callable[[Exported], str]]] = {
    "atif": ("ATIF v1.8 trajectory", lambda s: _json(atif(s.run, s.result))),
    "openai": ("OpenAI chat messages", lambda s: _json(messages(s.run))),
    "mini": (
        "mini-swe-agent .traj.json",
        lambda s: _json(mini_trajectory(s.run, s.result, s.patch)),
    ),
    "swebench": ("SWE-bench preds.json", _predictions),
    "junit": ("JUnit XML", lambda s: junit([s.result])),
    "script": ("script of a scripted model", _script),
}
"""For each format its line in the help, and what makes it."""
