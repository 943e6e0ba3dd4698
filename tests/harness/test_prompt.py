"""The system message, assembled from sections."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from harness.errors import RegistrationError
from harness.prompt import (
    Assembly,
    Prompt,
    PromptError,
    persona,
    time_section,
    tool_guidance,
    workspace_section,
)
from harness.registry import Registry
from tests.harness.doubles import agent_of, says, tool_of


@pytest.mark.req("S-214")
async def test_sections_come_in_ascending_order() -> None:
    prompt = Prompt()
    prompt.section("c", "third", order=10)
    prompt.section("a", "first", order=-5)
    prompt.section("b", "second", order=10.5)
    prompt.section("d", "fourth", order=10)
    assert await prompt.render() == "first\n\nthird\n\nfourth\n\nsecond"


@pytest.mark.req("S-215")
async def test_variables_are_replaced_once() -> None:
    prompt = Prompt()
    prompt.section("a", "Hello {{ name }}, {{name}}!")
    prompt.variable("name", "{{other}}")
    assert await prompt.render() == "Hello {{other}}, {{other}}!"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{missing}}", "section 'a': there is no variable 'missing'"),
        ("{{ }}", "is no variable"),
        ("{{a.__class__}}", "there is no variable"),
        ("{{x!r}}", "is no variable"),
        ("{{name", "is not closed"),
        ("{{none}}", "'none' has no value"),
    ],
)
async def test_faulty_variables_are_named(text: str, words: str) -> None:
    prompt = Prompt()
    prompt.section("a", text)
    prompt.variable("name", "x")
    prompt.variable("none", lambda: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(PromptError, match=words):
        await prompt.render()


@pytest.mark.req("S-216")
async def test_hooks_rework_the_prompt_and_the_list_of_tools() -> None:
    prompt = Prompt()
    prompt.section("a", "text")

    def outer(assembly: Assembly, call_next) -> Assembly:
        inner = call_next(assembly)
        return replace(inner, text=inner.text.upper())

    def hide(assembly: Assembly, call_next) -> Assembly:
        kept = tuple(tool for tool in assembly.tools if tool.name != "secret")
        return call_next(Assembly(assembly.text + "!", kept))

    prompt.hook(outer)
    dispose = prompt.hook(hide)
    agent = agent_of(says("ok"), says("ok"), tools=[tool_of("a"), tool_of("secret")], system=prompt)
    await agent.run("go")
    request = agent.model.requests[0]
    assert request.messages[0].text == "TEXT!"
    assert [tool.name for tool in request.tools] == ["a"]
    dispose()
    await agent.run("go")
    assert [tool.name for tool in agent.model.requests[1].tools] == ["a", "secret"]


@pytest.mark.req("S-217", "S-218")
async def test_persona_time_workspace_and_guidance_are_sections_like_any_other() -> None:
    prompt, registry = Prompt(), Registry([tool_of("echo")])
    undo = [
        tool_guidance(prompt, registry),
        workspace_section(prompt, "/workspace"),
        time_section(prompt, lambda: datetime(2026, 5, 4, tzinfo=UTC)),
        persona(prompt, "You are careful."),
    ]
    parts = (await prompt.render()).split("\n\n")
    assert parts[0] == "You are careful."
    assert parts[1] == "Today is 2026-05-04 (UTC)."
    assert parts[2].startswith("You work in the folder /workspace.")
    assert parts[3] == "Tools: echo."
    for dispose in undo:
        dispose()
    assert await prompt.render() == ""


@pytest.mark.req("S-219")
async def test_without_a_registry_there_are_no_tools() -> None:
    prompt = Prompt()
    prompt.section("a", "text")
    assert await prompt.assembly() == Assembly("text", ())


async def test_sections_may_be_functions_and_empty_ones_are_dropped() -> None:
    async def later() -> str:
        return "later"

    prompt = Prompt()
    prompt.section("a", lambda: "now")
    prompt.section("b", " \n ")
    prompt.section("c", later)
    assert await prompt.render() == "now\n\nlater"


def test_names_are_taken_once_and_given_back() -> None:
    prompt = Prompt()
    dispose = prompt.section("a", "x")
    undo = prompt.variable("v", "x")
    for again in (lambda: prompt.section("a", "y"), lambda: prompt.variable("v", "y")):
        with pytest.raises(RegistrationError, match="already"):
            again()
    for wrong in (
        lambda: prompt.section("b", "y", order=float("nan")),
        lambda: prompt.variable("no name", "y"),
    ):
        with pytest.raises(RegistrationError):
            wrong()
    dispose()
    undo()
    prompt.section("a", "y")
    prompt.variable("v", "y")
