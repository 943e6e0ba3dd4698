"""Replies that may enter a conversation, and conversations that may be sent."""

from __future__ import annotations

import pytest

from harness.errors import MalformedReplyError, ModelError, ScriptError, ScriptExhaustedError
from harness.message import Assistant, System, ToolCall, ToolMessage, User, conversation_fault
from harness.model import ModelRequest, Reply, Usage, accept_reply
from harness.models.scripted import ScriptedModel, read_script
from harness.signal import Signal
from tests.harness.doubles import agent_of, call, says, tool_of

REQUEST = ModelRequest((User("hi"),), (), Signal())


@pytest.mark.req("S-208")
@pytest.mark.parametrize("text", [None, 3, ["a"]])
def test_a_reply_without_text_is_rejected(text: object) -> None:
    with pytest.raises(MalformedReplyError, match="no text content"):
        accept_reply(Reply(text))  # type: ignore[arg-type]


@pytest.mark.req("S-209")
@pytest.mark.parametrize("calls", [None, "call", {"id": 1}, 7])
def test_calls_that_are_no_list_are_rejected(calls: object) -> None:
    with pytest.raises(MalformedReplyError, match="no list"):
        accept_reply(Reply("", calls))  # type: ignore[arg-type]


@pytest.mark.req("S-210")
@pytest.mark.parametrize("identity", [None, "", 5])
def test_a_call_without_an_id_is_rejected(identity: object) -> None:
    bad = ToolCall(identity, "echo", "{}")  # type: ignore[arg-type]
    with pytest.raises(MalformedReplyError, match="tool call 0 has no id"):
        accept_reply(Reply("", (bad,)))


@pytest.mark.req("S-213")
def test_two_calls_with_one_id_are_rejected() -> None:
    with pytest.raises(MalformedReplyError, match="repeats the id 'c1'"):
        accept_reply(Reply("", (call("a", id="c1"), call("b", id="c1"))))


@pytest.mark.req("S-212")
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (None, "nothing in place of a Reply"),
        ({"text": "x"}, "a dict in place of a Reply"),
        (Reply("", (None,)), "tool call 0 is nothing"),  # type: ignore[arg-type]
        (Reply("", (ToolCall("c", "", ""),)), "names no tool"),
        (Reply("", (ToolCall("c", "e", None),)), "are nothing"),  # type: ignore[arg-type]
        (Reply("", (), {"tokens": 1}), "the usage is a dict"),  # type: ignore[arg-type]
    ],
)
def test_what_is_missing_is_named_and_does_not_travel_on(bad: object, words: str) -> None:
    with pytest.raises(MalformedReplyError, match=words):
        accept_reply(bad)


@pytest.mark.req("S-211")
async def test_nothing_of_a_rejected_reply_enters_the_conversation() -> None:
    agent = agent_of(Reply("kept?", (call("echo", id=""),)), tools=[tool_of()])
    with pytest.raises(ModelError) as caught:
        await agent.run("go")
    assert list(agent.transcript) == [User("go")]
    assert list(caught.value.transcript) == [User("go")]


@pytest.mark.req("S-201")
async def test_a_scripted_model_answers_in_order() -> None:
    model = ScriptedModel([says("one"), says("two")])
    answers = [await model.generate(REQUEST), await model.generate(REQUEST)]
    assert answers == [says("one"), says("two")]


@pytest.mark.req("S-202")
async def test_one_request_more_than_the_script_has_raises() -> None:
    model = ScriptedModel([says("one")])
    await model.generate(REQUEST)
    with pytest.raises(ScriptExhaustedError, match="has 1 replies and was asked for one more"):
        await model.generate(REQUEST)


async def test_replies_that_nobody_asked_for_are_found() -> None:
    model = ScriptedModel([says("one"), says("two")])
    await model.generate(REQUEST)
    with pytest.raises(Exception, match="1 of 2 replies were not asked for"):
        model.assert_consumed()


def test_a_script_reads_the_same_from_json_and_toml(tmp_path) -> None:
    json_file, toml_file = tmp_path / "s.json", tmp_path / "s.toml"
    json_file.write_text(
        '{"schema": 1, "replies": [{"text": "a", "calls": [{"name": "t", "arguments": {"x": [1]}}],'
        ' "usage": {"input_tokens": 3}}, {"text": "b"}]}'
    )
    toml_file.write_text(
        "schema = 1\n[[replies]]\ntext = 'a'\n[[replies.calls]]\nname = 't'\narguments = {x = [1]}"
        "\n[replies.usage]\ninput_tokens = 3\n[[replies]]\ntext = 'b'\n"
    )
    expected = (
        Reply("a", (ToolCall("call-1-1", "t", '{"x": [1]}'),), Usage(input_tokens=3)),
        Reply("b"),
    )
    assert read_script(json_file) == read_script(toml_file) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", r"\$: must be a table"),
        ("{", "Expecting"),
        ('{"schema": 2, "replies": []}', r"\$\.schema: must be 1"),
        ('{"schema": true, "replies": []}', r"\$\.schema: must be 1"),
        ('{"schema": 1}', r"\$\.replies: must be a list"),
        ('{"schema": 1, "replies": [{"txt": ""}]}', r"\$\.replies\[0\]: unknown key 'txt'"),
        ('{"schema": 1, "replies": [{"text": 1}]}', r"\$\.replies\[0\]\.text"),
        ('{"schema": 1, "replies": [{"calls": [{}]}]}', r"calls\[0\]\.name"),
        ('{"schema": 1, "replies": [{"calls": {}}]}', r"calls: must be a list"),
        ('{"schema": 1, "replies": [{"usage": {"cost": "1"}}]}', r"usage\.cost: must be a number"),
    ],
)
def test_a_faulty_script_says_where(tmp_path, text: str, words: str) -> None:
    file = tmp_path / "s.json"
    file.write_text(text)
    with pytest.raises(ScriptError, match=words) as caught:
        read_script(file)
    assert str(file) in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_script_that_is_not_there_is_the_operators_mistake(tmp_path) -> None:
    with pytest.raises(ScriptError, match="cannot be read"):
        ScriptedModel.load(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([System("s"), User("u"), Assistant("a")], None),
        ([Assistant("", (call("t"),)), ToolMessage("c1", "t", "x")], None),
        ([Assistant("", (call("t"),))], "the call 'c1' has no result"),
        ([ToolMessage("c1", "t", "x")], "message 0: a result of 'c1' that no call awaits"),
        ([User("u"), System("s")], "message 1: a system message that is not the first"),
        (
            [Assistant("", (call("t"),)), User("u")],
            "message 1: the call 'c1' has no result yet",
        ),
        (
            [
                Assistant("", (call("t"), call("t", id="c2"))),
                ToolMessage("c2", "t", "x"),
                ToolMessage("c1", "t", "x"),
            ],
            "message 1: a result of 'c2' in place of 'c1'",
        ),
    ],
)
def test_conversations_are_judged(messages: list[object], fault: str | None) -> None:
    assert conversation_fault(messages) == fault  # type: ignore[arg-type]
