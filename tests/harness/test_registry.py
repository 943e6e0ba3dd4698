"""Definition, registration, and what the model can see."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, field_validator

from harness.errors import RegistrationError
from harness.hook import CallInfo
from harness.message import ToolCall
from harness.pipeline import Pipeline
from harness.registry import Registry
from harness.tool import Execution, Tool, as_tool, define_tool
from tests.harness.doubles import agent_of, asks, call, says, tool_of

OPEN = {"type": "object", "properties": {}}


class Incomplete:
    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


WHOLE = {"name": "t", "description": "Does it.", "parameters": OPEN, "execute": lambda _, __: 1}


@pytest.mark.req("S-01")
@pytest.mark.parametrize("part", ["name", "description", "parameters", "execute"])
def test_a_definition_that_lacks_a_part_is_refused_when_it_is_registered(part: str) -> None:
    parts = {key: value for key, value in WHOLE.items() if key != part}
    with pytest.raises(RegistrationError, match=f"has no {part}"):
        Registry([Incomplete(**parts)])


@pytest.mark.req("S-01")
@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("description", "  "),
        ("parameters", {"type": "string"}),
        ("execute", 3),
        ("timeout_seconds", 0),
        ("timeout_seconds", float("inf")),
        ("render", "text"),
        ("output", {"type": "strange"}),
    ],
)
def test_a_definition_with_a_faulty_part_is_refused(part: str, value: object) -> None:
    with pytest.raises(RegistrationError):
        Registry([Incomplete(**{**WHOLE, part: value})])


@pytest.mark.req("S-02", "S-19")
def test_the_model_sees_name_description_and_parameters_and_nothing_else() -> None:
    tool = tool_of(tier="write", timeout_seconds=3, render=lambda _, v: str(v))
    [seen] = Registry([tool]).definitions()
    assert {name: getattr(seen, name) for name in seen.__slots__} == {
        "name": "echo",
        "description": "The tool echo.",
        "parameters": tool.parameters,
    }


@pytest.mark.req("S-06", "S-75")
async def test_a_tier_reaches_approval_policy_and_not_the_model() -> None:
    tiers: list[str | None] = []

    async def by_tier(info: CallInfo, call_next: Any) -> Any:
        tiers.append(info.tier)
        return await call_next()

    agent = agent_of(
        asks(("a", {}), ("b", {})), says("ok"), tools=[tool_of("a", tier="read-only"), tool_of("b")]
    )
    agent.hooks.before(by_tier)
    await agent.run("go")
    assert tiers == ["read-only", None]
    assert "read-only" not in repr(agent.model.requests[0].tools)


@pytest.mark.req("S-09")
@pytest.mark.parametrize("name", ["", "1a", "-a", "_a", "a b", "ä", "a.b", "a\n", "a" * 65])
def test_a_bad_name_is_refused_and_named(name: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        Registry([tool_of(name)])
    assert repr(name) in str(caught.value)


@pytest.mark.req("S-09")
@pytest.mark.parametrize("name", ["a", "A1", "read_file", "x-y", "a" * 64])
def test_a_good_name_is_taken(name: str) -> None:
    assert Registry([tool_of(name)]).names() == (name,)


@pytest.mark.req("S-10")
def test_a_name_is_taken_once() -> None:
    registry = Registry([tool_of()])
    with pytest.raises(RegistrationError, match="'echo'"):
        registry.register(tool_of())


@pytest.mark.req("S-11")
def test_a_later_registration_replaces_an_earlier_one_only_when_it_says_so() -> None:
    registry = Registry([tool_of()])
    second = tool_of(description="Another.")
    registry.register(second, replace=True)
    assert registry.get("echo") is second


def test_a_stale_disposer_leaves_the_replacement_alone() -> None:
    registry = Registry()
    dispose = registry.register(tool_of())
    second = tool_of()
    registry.register(second, replace=True)
    dispose()
    assert registry.get("echo") is second


@pytest.mark.req("S-12")
def test_a_registry_is_made_of_a_list_with_the_same_checks() -> None:
    assert Registry([tool_of("a"), tool_of("b")]).names() == ("a", "b")
    with pytest.raises(RegistrationError):
        Registry([tool_of("a"), tool_of("a")])


@pytest.mark.req("S-13", "S-227")
async def test_a_disposed_tool_is_neither_listed_nor_callable() -> None:
    registry = Registry()
    dispose = registry.register(tool_of())
    dispose()
    dispose()
    result = await Pipeline(registry).call(call("echo"))
    assert registry.definitions() == ()
    assert result.error.type == "UnknownTool"


@pytest.mark.req("S-14")
def test_unregistering_a_name_that_is_not_there_breaks_nothing() -> None:
    registry = Registry([tool_of()])
    registry.unregister("nothing")
    assert registry.names() == ("echo",)


@pytest.mark.req("S-15")
def test_lookups_are_exact_and_the_order_is_that_of_registration() -> None:
    names = ["zeta", "constructor", "toString", "alpha", "items"]
    registry = Registry([tool_of(name) for name in names])
    assert list(registry.names()) == names
    assert registry.get("__class__") is None
    assert registry.get("Zeta") is None


@pytest.mark.req("S-20")
def test_the_registry_does_not_depend_on_what_it_gave_out() -> None:
    registry = Registry([tool_of()])
    given = list(registry.definitions())
    given.clear()
    assert [tool.name for tool in registry.definitions()] == ["echo"]


@pytest.mark.req("S-20")
def test_changing_the_parameters_that_were_given_out_changes_nothing() -> None:
    registry = Registry([tool_of()])
    with pytest.raises(TypeError):
        registry.definitions()[0].parameters["properties"]["text"] = {}  # type: ignore[index]
    assert registry.entry("echo").parameters.violations({"text": 1})


@pytest.mark.req("S-21")
def test_the_execution_view_gives_the_tool_or_nothing() -> None:
    tool = tool_of()
    registry = Registry([tool])
    assert registry.get("echo") is tool
    assert registry.get("missing") is None


@pytest.mark.req("S-18")
async def test_the_description_reaches_the_model_as_it_is() -> None:
    text = "  Says  it back.\n\nUse it twice. "
    agent = agent_of(says("ok"), tools=[tool_of(description=text)])
    await agent.run("go")
    assert agent.model.requests[0].tools[0].description == text


@pytest.mark.req("S-27")
async def test_a_restricted_scope_hides_tools_there_and_only_there() -> None:
    registry = Registry([tool_of("a"), tool_of("b")])
    scope = registry.scope([tool_of("own")])
    dispose = scope.restrict(allow=["a"])
    hidden = await Pipeline(scope).call(call("b"))
    assert scope.names() == ("a", "own")
    assert hidden.error.type == "UnknownTool"
    assert registry.names() == ("a", "b")
    dispose()
    assert scope.names() == ("a", "b", "own")


@pytest.mark.req("S-27")
def test_restrictions_intersect_and_know_their_tools() -> None:
    registry = Registry([tool_of("a"), tool_of("b"), tool_of("c")])
    scope = registry.scope()
    scope.restrict(allow=["a", "b"])
    scope.restrict(deny=["a"])
    assert scope.names() == ("b",)
    for wrong in ({"allow": ["x"]}, {}):
        with pytest.raises(RegistrationError):
            scope.restrict(**wrong)
    with pytest.raises(RegistrationError):
        registry.restrict(allow=["a"])


@pytest.mark.req("S-28")
def test_what_a_scope_registers_stays_in_it_and_shadows_what_is_above() -> None:
    registry = Registry([tool_of("a")])
    scope = registry.scope()
    shadow = tool_of("a", description="Mine.")
    dispose = scope.register(shadow)
    assert scope.get("a") is shadow
    assert registry.get("a") is not shadow
    dispose()
    assert scope.get("a") is registry.get("a")


def test_a_tool_registered_above_is_seen_below() -> None:
    registry = Registry()
    scope = registry.scope()
    assert scope.names() == ()
    registry.register(tool_of())
    assert scope.names() == ("echo",)


@pytest.mark.req("S-04")
async def test_a_tool_is_declared_with_five_parts() -> None:
    tool = Tool(
        name="double",
        description="Double it.",
        parameters={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        output={"type": "object", "properties": {"n": {"type": "integer"}}},
        render=lambda arguments, value: f"{arguments['n']} -> {value['n']}",
        execute=lambda arguments, _: {"n": 2 * arguments["n"]},
    )
    result = await Pipeline(Registry([tool])).call(call("double", {"n": 4}))
    assert (result.content, result.value) == ("4 -> 8", {"n": 8})


@pytest.mark.req("S-05")
async def test_the_body_gets_arguments_of_the_declared_types() -> None:
    seen: list[object] = []

    class Point(BaseModel):
        x: int
        y: float = 0.5

    @define_tool
    async def plot(point: Point, labels: list[str], wide: bool = False) -> str:
        """Plot a point."""
        seen.extend([point, labels, wide])
        return "ok"

    raw = '{"point": {"x": 1}, "labels": ["a"]}'
    await Pipeline(Registry([plot])).call(ToolCall("c1", "plot", raw))
    assert seen == [Point(x=1, y=0.5), ["a"], False]


def test_a_schema_is_derived_from_hints_and_lies_in_the_subset() -> None:
    @define_tool
    def find(
        text: Annotated[str, Field(description="What to find.", min_length=1)],
        limit: Annotated[int, Field(ge=1, le=1000)] = 10,
        kind: str | None = None,
    ) -> str:
        """Find text.

        Args:
            text: not part of the description.
        """
        return text

    assert find.description == "Find text."
    assert find.parameters == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to find.", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10},
            "kind": {"oneOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["text"],
        "additionalProperties": False,
    }


def test_types_without_a_form_in_the_subset_are_refused_at_registration() -> None:
    class Tree(BaseModel):
        parts: list[Tree] = []

    with pytest.raises(RegistrationError, match="contains itself"):

        @define_tool
        def grow(tree: Tree) -> str:
            """Grow."""
            return ""


@pytest.mark.parametrize("bad", ["no hint", "star"])
def test_signatures_that_a_model_cannot_fill_are_refused(bad: str) -> None:
    def untyped(x):
        """Do."""

    def star(*x: int) -> None:
        """Do."""

    with pytest.raises(RegistrationError):
        define_tool(untyped if bad == "no hint" else star)


async def test_pydantic_errors_have_the_form_of_all_others_and_come_at_once() -> None:
    class Span(BaseModel):
        days: list[int]
        unit: str

        @field_validator("days")
        @classmethod
        def short(cls, days: list[int]) -> list[int]:
            if any(day > 31 for day in days):
                raise ValueError("a day is at most 31")
            return days

        @field_validator("unit")
        @classmethod
        def known(cls, unit: str) -> str:
            if unit != "day":
                raise ValueError("only days")
            return unit

    @define_tool(parameters=Span)
    def plan(span: Span) -> str:
        """Plan."""
        return span.unit

    result = await Pipeline(Registry([plan])).call(call("plan", {"days": [32], "unit": "x"}))
    assert result.content == (
        "Invalid arguments: plan: $.days: Value error, a day is at most 31; "
        "$.unit: Value error, only days"
    )


async def test_strict_mode_does_not_convert() -> None:
    @define_tool
    def add(a: int, b: float) -> float:
        """Add."""
        return a + b

    pipeline = Pipeline(Registry([add]))
    wrong = await pipeline.call(call("add", {"a": "1", "b": True}))
    right = await pipeline.call(call("add", {"a": 1, "b": 2}))
    assert wrong.content.count("$.") == 2
    assert right.value == 3.0


@pytest.mark.req("S-08")
async def test_a_body_gets_its_arguments_and_its_execution() -> None:
    seen: list[Any] = []

    @define_tool
    async def look(x: int, execution: Execution) -> None:
        """Look."""
        seen.append((x, execution.call_id, execution.tool, execution.signal.cancelled))

    await Pipeline(Registry([look])).call(call("look", {"x": 3}, "id-9"))
    assert seen == [(3, "id-9", "look", False)]


def test_the_class_form_is_an_object_with_the_same_parts() -> None:
    class Shout:
        name = "shout"
        description = "Say it loudly."
        parameters = OPEN
        tier = "read-only"

        async def execute(self, arguments: dict[str, Any], execution: Execution) -> str:
            return "HEY"

    made = as_tool(Shout())
    assert (made.name, made.tier, made.description) == ("shout", "read-only", "Say it loudly.")


@pytest.mark.req("S-16", "S-17")
async def test_a_built_in_and_a_users_tool_go_the_same_way(tmp_path) -> None:
    from harness.tools.ending import finish_tool

    seen: list[str] = []
    registry = Registry([tool_of()])
    registry.register(finish_tool())
    pipeline = Pipeline(registry)

    async def watch(info: CallInfo, call_next: Any) -> Any:
        seen.append(info.name)
        return await call_next()

    pipeline.hooks.before(watch)
    await pipeline.run([call("echo"), call("finish", id="c2")])
    assert seen == ["echo", "finish"]
