"""Services, plugins, and undoing what they did."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.agent import Agent
from harness.bus import Events
from harness.errors import ConfigError, RegistrationError, ServiceError
from harness.hook import Hooks
from harness.models.scripted import ScriptedModel
from harness.pipeline import Pipeline
from harness.plugin import (
    EVENTS,
    HOOKS,
    LOOP,
    MODEL,
    PROMPT,
    TOOLS,
    Context,
    Plugin,
    installed_plugins,
    load_plugin,
)
from harness.prompt import Prompt
from harness.registry import Registry
from harness.service import Key, Services
from tests.harness.doubles import asks, call, says, tool_of

NUMBER: Key[int] = Key("number")
WORD: Key[str] = Key("word")


async def root_of(*replies: Any) -> Context:
    root = Context()
    await root.provide(EVENTS, Events())
    await root.provide(HOOKS, Hooks())
    await root.provide(PROMPT, Prompt())
    await root.provide(TOOLS, Registry())
    if replies:
        await root.provide(MODEL, ScriptedModel(replies))
    return root


async def loop_setup(context: Context, config: Mapping[str, Any]) -> None:
    services = context.services
    agent = Agent(
        services[MODEL],
        tools=services[TOOLS],
        hooks=services[HOOKS],
        events=services[EVENTS],
        system=services[PROMPT],
    )
    await context.provide(LOOP, agent)


LOOP_PLUGIN = Plugin("loop", loop_setup, (MODEL, TOOLS, HOOKS, EVENTS, PROMPT))


@pytest.mark.req("S-220", "S-222")
async def test_model_tools_and_loop_are_services_that_start_and_stop_apart() -> None:
    root = await root_of()
    fiber = await root.load(LOOP_PLUGIN)
    assert fiber.missing == ("model",)
    undo_model = await root.provide(MODEL, ScriptedModel([says("ok")]))
    assert (await root.services[LOOP].run("go")).answer == "ok"
    await root.withdraw(undo_model)
    assert LOOP not in root.services
    assert TOOLS in root.services
    await root.provide(MODEL, ScriptedModel([says("again")]))
    assert (await root.services[LOOP].run("go")).answer == "again"
    await root.dispose()


@pytest.mark.req("S-221")
async def test_each_service_can_be_replaced_on_its_own() -> None:
    tools_alone = Pipeline(Registry([tool_of()]))
    assert (await tools_alone.call(call("echo", {"text": "a"}))).value == "a"
    model_alone = Agent(ScriptedModel([says("no tools")]))
    assert (await model_alone.run("go")).answer == "no tools"


@pytest.mark.req("S-223")
async def test_a_plugin_starts_when_what_it_needs_is_there_and_stops_when_it_goes() -> None:
    trail: list[str] = []

    def setup(context: Context, config: Mapping[str, Any]) -> None:
        trail.append(f"start {context.services[NUMBER]} {context.services[WORD]}")
        context.effect(lambda: trail.append("stop"))

    root = Context()
    await root.load(Plugin("needy", setup, (NUMBER, WORD)))
    await root.provide(NUMBER, 1)
    assert trail == []
    undo = await root.provide(WORD, "a")
    await root.withdraw(undo)
    await root.provide(WORD, "b")
    await root.dispose()
    assert trail == ["start 1 a", "stop", "start 1 b", "stop"]


async def test_plugins_that_need_each_others_services_start_in_any_order() -> None:
    async def provides(context: Context, config: Mapping[str, Any]) -> None:
        await context.provide(WORD, f"word {context.services[NUMBER]}")

    seen: list[str] = []
    root = Context()
    await root.load(Plugin("last", lambda c, _: seen.append(c.services[WORD]), (WORD,)))
    await root.load(Plugin("first", provides, (NUMBER,)))
    await root.provide(NUMBER, 7)
    assert seen == ["word 7"]
    await root.dispose()


@pytest.mark.req("S-224")
def test_a_service_that_is_not_mounted_is_a_clear_error() -> None:
    with pytest.raises(ServiceError, match="service 'number' is not mounted"):
        Services()[NUMBER]


def test_a_service_is_mounted_once_a_layer() -> None:
    services = Services()
    dispose = services.provide(NUMBER, 1)
    with pytest.raises(RegistrationError, match="'number': is mounted already"):
        services.provide(NUMBER, 2)
    below = Services(services)
    below.provide(NUMBER, 3)
    assert (services[NUMBER], below[NUMBER]) == (1, 3)
    dispose()
    dispose()
    assert services.find(NUMBER) is None
    assert NUMBER in below


async def test_an_isolated_context_does_not_touch_the_one_above() -> None:
    root = Context()
    await root.provide(NUMBER, 1)
    scope = root.isolated("run")
    await scope.provide(WORD, "own")
    assert (scope.services[NUMBER], scope.services[WORD]) == (1, "own")
    assert WORD not in root.services
    await scope.dispose()
    await root.dispose()


@pytest.mark.req("S-225")
def test_a_misspelt_key_and_a_wrong_type_of_service_are_found_before_the_program_runs(
    tmp_path,
) -> None:
    (tmp_path / "keys.py").write_text(
        "from harness.service import Key\nNUMBER: Key[int] = Key('number')\n"
    )
    (tmp_path / "program.py").write_text(
        "import keys\n"
        "from harness.service import Services\n"
        "good: int = Services()[keys.NUMBER]\n"
        "wrong: str = Services()[keys.NUMBER]\n"
        "Services()[keys.NUMBRE]\n"
    )
    argv = [sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "program.py"]
    path = {"MYPYPATH": str(Path(harness.__file__).parents[1])}
    done = subprocess.run(
        argv, cwd=tmp_path, env=os.environ | path, capture_output=True, text=True, check=False
    )
    found = [line.split(": ")[0] for line in done.stdout.splitlines() if ": error:" in line]
    assert found == ["program.py:4", "program.py:5"], done.stdout


@pytest.mark.req("S-225")
@pytest.mark.slow
def test_a_misspelt_service_is_found_by_the_type_checker(tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import harness.plugin as p\n"
        "c = p.Context()\n"
        "x: int = c.services[p.MODEL]\n"
        "c.services[p.MODELL]\n"
    )
    argv = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(program)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert 'Module has no attribute "MODELL"' in done.stdout
    assert 'variable has type "int"' in done.stdout


@pytest.mark.req("S-226", "S-227")
async def test_unloading_a_plugin_leaves_nothing() -> None:
    async def hook(info: Any, call_next: Any) -> Any:
        return await call_next()

    async def post(info: Any, draft: Any, call_next: Any) -> Any:
        return await call_next()

    def setup(context: Context, config: Mapping[str, Any]) -> None:
        context.tool(tool_of("added"))
        context.guard(lambda info: None)
        context.before(hook)
        context.wrap(hook)
        context.after(post)
        context.observe(lambda info, result: None)
        context.section("added", "text", order=config["order"])
        context.assemble(lambda assembly, call_next: call_next(assembly))
        context.subscribe(lambda event: None)

    root = await root_of()
    services = root.services
    hooks = services[HOOKS]
    fiber = await root.load(Plugin("all", setup, (TOOLS, HOOKS, PROMPT, EVENTS)), {"order": 3})
    assert services[TOOLS].names() == ("added",)
    assert await services[PROMPT].render() == "text"
    await root.unload(fiber)
    assert services[TOOLS].names() == ()
    assert await services[PROMPT].render() == ""
    assert [hooks.pre, hooks.around, hooks.post, hooks.guards, hooks.observers] == [[]] * 5
    assert services[EVENTS]._subscribers == []
    await root.dispose()


async def test_everything_is_undone_in_reverse_order_and_once() -> None:
    trail: list[str] = []

    async def later() -> None:
        trail.append("b")

    root = Context()
    root.effect(lambda: trail.append("a"))
    root.effect(later)
    root.effect(lambda: trail.append("c"))
    await root.dispose()
    await root.dispose()
    assert trail == ["c", "b", "a"]
    with pytest.raises(RegistrationError, match="is disposed"):
        root.effect(lambda: None)


async def test_one_that_cannot_be_undone_does_not_keep_the_others() -> None:
    trail: list[str] = []
    root = Context()
    root.effect(lambda: trail.append("a"))
    root.effect(lambda: 1 / 0)
    with pytest.raises(ExceptionGroup):
        await root.dispose()
    assert trail == ["a"]


@pytest.mark.req("S-228")
async def test_a_program_starts_from_one_context_runs_and_stops() -> None:
    ended: list[str] = []

    def greeter(context: Context, config: Mapping[str, Any]) -> None:
        context.tool(tool_of("greet", lambda a, _: f"{config['word']}, {a['text']}", inline=True))
        context.effect(lambda: ended.append("greeter"))

    async with await root_of(asks(("greet", {"text": "you"})), says("done")) as root:
        await root.load(Plugin("greeter", greeter, (TOOLS,)), {"word": "Hello"})
        await root.load(LOOP_PLUGIN)
        result = await root.services[LOOP].run("go")
    assert (result.messages[2].content, ended) == ("Hello, you", ["greeter"])


@pytest.mark.req("S-229")
async def test_a_plugin_that_fails_to_start_is_undone_and_its_error_goes_up() -> None:
    def broken(context: Context, config: Mapping[str, Any]) -> None:
        context.tool(tool_of("half"))
        raise ConfigError("no such word")

    root = await root_of()
    with pytest.raises(ConfigError, match="no such word") as caught:
        await root.load(Plugin("broken", broken))
    assert caught.value.exit_code != 0
    assert root.services[TOOLS].names() == ()
    await root.dispose()


@pytest.mark.req("S-230")
async def test_a_missing_capability_is_added_at_an_existing_point() -> None:
    """A cache of results: nobody had one in mind."""
    from harness.result import Success

    kept: dict[str, Any] = {}
    ran: list[str] = []

    async def cache(info: Any, call_next: Any) -> Any:
        key = f"{info.name} {info.raw}"
        if key not in kept:
            kept[key] = (await call_next()).value
        return Success(kept[key])

    root = await root_of()
    root.tool(tool_of("f", lambda *_: ran.append("f") or "x", inline=True))
    await root.load(Plugin("cache", lambda c, _: c.wrap(cache) and None, (HOOKS,)))
    pipeline = Pipeline(root.services[TOOLS], hooks=root.services[HOOKS])
    results = [await pipeline.call(call("f")) for _ in range(3)]
    assert ([r.value for r in results], ran) == (["x"] * 3, ["f"])
    await root.dispose()


def test_a_plugin_is_loaded_from_a_file_that_the_operator_names(tmp_path) -> None:
    good, bad, broken = tmp_path / "good.py", tmp_path / "bad.py", tmp_path / "broken.py"
    good.write_text(
        "from harness.plugin import Plugin\nplugin = Plugin('good', lambda c, config: None)\n"
    )
    bad.write_text("plugin = 3\n")
    broken.write_text("1 / 0\n")
    assert load_plugin(good).name == "good"
    for file, words in (
        (bad, "is no harness.plugin.Plugin"),
        (broken, "ZeroDivisionError"),
        (tmp_path / "none.py", "no such Python file"),
    ):
        with pytest.raises(ConfigError, match=words):
            load_plugin(file)


def test_installed_plugins_are_listed_by_name() -> None:
    assert isinstance(installed_plugins(), dict)
