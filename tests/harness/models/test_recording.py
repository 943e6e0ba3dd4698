"""A real conversation becomes a script that answers the same again."""

from __future__ import annotations

from pathlib import Path

from harness.message import ToolCall, User
from harness.model import ModelRequest, Reply, Usage
from harness.models.recording import RecordingModel
from harness.models.scripted import ScriptedModel
from harness.signal import Signal

REPLIES = [
    Reply("look", (ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "g", "{oops")), Usage(3, 4)),
    Reply("done", (), None),
]


def request() -> ModelRequest:
    return ModelRequest((User("x"),), (), Signal())


async def test_a_recorded_script_gives_the_same_replies(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    recording = RecordingModel(ScriptedModel(REPLIES), path)
    for _ in REPLIES:
        await recording.generate(request())
    again = ScriptedModel.load(path)
    assert [await again.generate(request()) for _ in REPLIES] == REPLIES


async def test_secrets_are_removed_from_a_script(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    key = "sk-" + "a1B2" * 8
    reply = Reply(f"use {key} or hunter2-password", (ToolCall("a", "f", f'{{"k": "{key}"}}'),))
    recording = RecordingModel(ScriptedModel([reply]), path, secrets=["hunter2-password"])
    await recording.generate(request())
    text = path.read_text()
    assert (key in text, "hunter2" in text, text.count("[removed]")) == (False, False, 3)


async def test_an_interrupted_run_has_a_script_of_what_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    recording = RecordingModel(ScriptedModel(REPLIES), path)
    await recording.generate(request())
    assert ScriptedModel.load(path).left == 1
