"""What the guide for library users shows, run as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import harness
from harness.bus import Events
from harness.hook import Hooks
from harness.pipeline import Pipeline
from harness.plugin import EVENTS, HOOKS, PROMPT, TOOLS, Context, load_plugin
from harness.prompt import Prompt
from harness.registry import Registry
from tests.harness.doubles import call

ROOT = Path(harness.__file__).parents[1]


def blocks(language: str) -> list[str]:
    text = (ROOT / "docs" / "library.md").read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_program_of_the_guide_runs(tmp_path) -> None:
    [program], [policy] = blocks("python"), blocks("toml")
    (tmp_path / "own-tools.toml").write_text(policy)
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("It is 5.\n", "")


def held(hooks: Hooks) -> dict[str, list[object]]:
    return {
        name: list(getattr(hooks, name))
        for name in ("pre", "around", "post", "guards", "observers")
    }


async def test_the_example_plugin_adds_four_things_and_leaves_nothing() -> None:
    root, calls = Context(), Counter[str]()
    for key, service in (
        (TOOLS, Registry()),
        (HOOKS, Hooks()),
        (PROMPT, Prompt()),
        (EVENTS, Events()),
    ):
        await root.provide(key, service)
    services = root.services
    before = held(services[HOOKS])
    assert not any(before.values())
    plugin = load_plugin(ROOT / "examples" / "plugin" / "word_count.py")
    fiber = await root.load(plugin, {"calls": calls, "most": 100})
    pipeline = Pipeline(services[TOOLS], hooks=services[HOOKS])
    good = await pipeline.call(call("count_words", {"text": "one two three"}))
    long = await pipeline.call(call("count_words", {"text": "x" * 100}))
    assert held(services[HOOKS]) != before
    assert (good.value, long.content) == (3, "Denied: count_words: the text is too long")
    assert calls == {"count_words ok": 1, "count_words error": 1}
    assert "count_words" in await services[PROMPT].render()
    await root.unload(fiber)
    assert services[TOOLS].names() == ()
    assert await services[PROMPT].render() == ""
    assert held(services[HOOKS]) == before
    await root.dispose()


def test_the_loop_can_be_held_in_the_head() -> None:
    lines = (ROOT / "harness" / "loop.py").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("class Loop:"))
    assert len(lines) - start <= 140
