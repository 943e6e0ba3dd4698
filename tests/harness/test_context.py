"""What of a conversation is sent, and what is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.budget import Budget
from harness.context import Transcript, Trimmer, message_size
from harness.message import (
    Assistant,
    Message,
    System,
    ToolMessage,
    User,
    conversation_fault,
)
from tests.harness.doubles import Recorder, agent_of, asks, call, says, tool_of


def rounds(count: int, size: int = 100, *, system: bool = True) -> list[Message]:
    made: list[Message] = [System("s" * 10)] if system else []
    made.append(User("do it"))
    for number in range(count):
        made.append(Assistant("", (call("t", id=f"a{number}"), call("t", id=f"b{number}"))))
        made += [ToolMessage(f"{x}{number}", "t", "x" * size) for x in "ab"]
    return made


@pytest.mark.req("S-178", "S-179")
async def test_the_oldest_rounds_are_left_out_whole() -> None:
    messages = rounds(10)
    view = list(await Trimmer(1000).view(Transcript(messages)))
    assert view[:2] == messages[:2]
    assert view[2] == User(
        "[21 earlier messages of this conversation were left out here to save space.]", "context"
    )
    assert view[3:] == messages[-9:]
    assert conversation_fault(view) is None


async def test_below_the_limit_everything_is_sent() -> None:
    messages = rounds(3)
    assert list(await Trimmer(10_000).view(Transcript(messages))) == messages


async def test_the_last_round_stays_and_it_is_said_that_the_rest_does_not_fit() -> None:
    trimmer = Trimmer(50)
    messages = rounds(3)
    view = list(await trimmer.view(Transcript(messages)))
    assert view[-3:] == messages[-3:]
    assert trimmer.fits is False


async def test_the_latest_request_of_the_user_stays() -> None:
    messages = [*rounds(3), Assistant("done"), User("and now?"), *rounds(6)[2:]]
    view = list(await Trimmer(700).view(Transcript(messages)))
    assert view[1] == User("and now?")
    assert User("do it") not in view
    assert view[0] == messages[0]


async def test_a_trimmed_view_keeps_its_beginning_for_some_steps() -> None:
    transcript, trimmer = Transcript(rounds(10)), Trimmer(3000)
    starts = set()
    for number in range(20, 23):
        transcript.extend(
            [
                Assistant("", (call("t", id=f"c{number}"),)),
                ToolMessage(f"c{number}", "t", "x" * 100),
            ]
        )
        starts.add((await trimmer.view(transcript))[2])
    assert len(starts) <= 2


async def test_what_is_left_out_can_be_summed_up() -> None:
    seen: list[Sequence[Message]] = []

    async def compact(gone: Sequence[Message]) -> str:
        seen.append(gone)
        return f"Before: {len(gone)} messages about t."

    view = list(await Trimmer(1000, compact=compact).view(Transcript(rounds(10))))
    assert view[2] == User("Before: 21 messages about t.", "context")
    assert all(not isinstance(m, System | User) for m in seen[0])


@pytest.mark.req("S-180")
async def test_the_recorded_conversation_stays_whole() -> None:
    replies = [asks(("echo", {"text": f"{n}" * 200})) for n in range(8)]
    agent = agent_of(
        *replies, says("ok"), tools=[tool_of()], context_characters=1000, budget=Budget(steps=20)
    )
    result = await agent.run("go")
    sent = agent.model.requests[-1].messages
    assert len(result.messages) == 1 + 8 * 2 + 1
    assert len(sent) < len(result.messages) - 1
    assert all(conversation_fault(r.messages) is None for r in agent.model.requests)


async def test_an_agent_sums_up_what_it_leaves_out_and_says_when_the_rest_is_too_long() -> None:
    async def compact(gone: Sequence[Message]) -> str:
        return f"{len(gone)} messages"

    replies = [asks(("echo", {"text": "x" * 300})) for _ in range(3)]
    agent = agent_of(
        *replies, says("ok"), tools=[tool_of()], context_characters=200, compact=compact
    )
    seen = Recorder(agent.events)
    await agent.run("go")
    notes = [m for m in agent.model.requests[-1].messages if isinstance(m, User)]
    assert notes[1] == User("4 messages", "context")
    assert [notice.kind for notice in seen.of("notice")] == ["context"]


ROUND = st.one_of(
    st.builds(lambda size: ("round", size), st.integers(0, 50)),
    st.builds(lambda size: ("user", size), st.integers(0, 50)),
    st.builds(lambda size: ("note", size), st.integers(0, 50)),
    st.builds(lambda size: ("says", size), st.integers(0, 50)),
)


@given(parts=st.lists(ROUND, max_size=12), limit=st.integers(1, 300), every=st.booleans())
async def test_any_trimmed_view_is_a_valid_conversation(
    parts: list[tuple[str, int]], limit: int, every: bool
) -> None:
    transcript, trimmer = Transcript([System("s"), User("u")]), Trimmer(limit)
    view: Any = None
    for number, (kind, size) in enumerate(parts):
        text = "x" * size
        if kind == "round":
            transcript.append(Assistant(text, (call("t", id=f"c{number}"),)))
            transcript.append(ToolMessage(f"c{number}", "t", text))
        elif kind == "says":
            transcript.append(Assistant(text))
        else:
            transcript.append(User(text, "user" if kind == "user" else "context"))
        if every:
            view = await trimmer.view(transcript)
    view = await trimmer.view(transcript)
    assert conversation_fault(view) is None
    assert view[0] == System("s")
    requests = [m for m in transcript if isinstance(m, User) and m.origin == "user"]
    assert requests[-1] in list(view)
    assert view[-1] == transcript[len(transcript) - 1]
    kept = sum(map(message_size, (m for m in view if not is_note(m))))
    assert kept <= limit or not trimmer.fits


def is_note(message: Message) -> bool:
    return isinstance(message, User) and "left out here to save space" in message.text


def test_a_view_is_a_sequence() -> None:
    view = Transcript(rounds(1)).view(2, (User("head"),))
    assert len(view) == 4
    assert view[0] == User("head")
    assert view[-1] == view[3] == list(view)[3]
    assert view[1:3] == tuple(list(view)[1:3])
    assert view == list(view)
    assert view != [User("head")]
    with pytest.raises(IndexError):
        view[4]


def test_conversations_that_differ_have_different_digests() -> None:
    texts = [
        [User("ab"), User("c")],
        [User("a"), User("bc")],
        [User("ab"), User("c", "context")],
        [System("ab"), User("c")],
        [Assistant("ab"), User("c")],
        [ToolMessage("a", "b", "c")],
        [ToolMessage("a", "b", "c", is_error=True)],
        [],
    ]
    assert len({Transcript(messages).digest for messages in texts}) == len(texts)
