"""The two ways of a record into the log: both write the same bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.bus import Events, record_fields
from harness.errors import LogError
from harness.event import (
    ModelReplied,
    ModelRequested,
    RunEnd,
    RunStart,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolFinished,
    ToolJudged,
)
from harness.frequent import frequent_text
from harness.record import EventLog, encode_body, read_events, redactor

TEXTS = st.text(max_size=8)
SECONDS = st.floats(0, 1e6) | st.integers(0, 3)
FACTS = st.dictionaries(TEXTS, TEXTS | st.integers() | st.none(), max_size=2)


def maybe(values: Any) -> Any:
    return st.none() | values


FREQUENT = st.one_of(
    st.just(StepStart()),
    st.builds(
        ModelRequested,
        messages=st.integers(0, 9),
        digest=TEXTS,
        added=st.lists(FACTS, max_size=2).map(tuple),
        omitted=maybe(st.integers(1, 9)),
        tools=maybe(st.lists(FACTS, max_size=1).map(tuple)),
    ),
    st.builds(
        ModelReplied,
        text=TEXTS,
        calls=st.lists(FACTS, max_size=2).map(tuple),
        duration_seconds=SECONDS,
        usage=maybe(FACTS),
        model=maybe(TEXTS),
        repairs=maybe(st.lists(TEXTS, max_size=1).map(tuple)),
        reasoning=maybe(st.lists(FACTS, max_size=1).map(tuple)),
        cut=maybe(st.just(True)),
    ),
    st.builds(ToolCalled, name=TEXTS, arguments=TEXTS, origin=TEXTS),
    st.builds(
        ToolJudged,
        name=TEXTS,
        decision=TEXTS,
        reason=TEXTS,
        message=maybe(TEXTS),
        rule=maybe(TEXTS),
        line=maybe(TEXTS),
        word=maybe(st.integers(0, 3)),
        stage=maybe(st.integers(0, 3)),
        runs_code=maybe(st.just(True)),
        isolation=maybe(TEXTS),
        policy=maybe(TEXTS),
        action=maybe(FACTS),
    ),
    st.builds(
        ToolFinished,
        name=TEXTS,
        ok=st.booleans(),
        content=TEXTS,
        duration_seconds=SECONDS,
        error=maybe(FACTS),
        contexts=maybe(st.lists(TEXTS, max_size=1).map(tuple)),
        artifact=maybe(FACTS),
        outcome=maybe(FACTS),
    ),
    st.builds(StepEnd, calls=st.integers(0, 9), duration_seconds=SECONDS, status=maybe(TEXTS)),
)


@given(payload=FREQUENT, step=st.integers(0, 3), call=maybe(TEXTS))
def test_the_short_way_into_the_log_writes_the_same_bytes(payload, step, call) -> None:
    short = frequent_text(payload, step, call)
    assert short is None or f"{{{short}}}" == encode_body(record_fields(payload, step, call))


def test_the_records_of_every_step_take_the_short_way() -> None:
    usual = [
        StepStart(),
        ModelRequested(3, "0f", ({"role": "user", "text": "go"},)),
        ModelReplied(
            "", ({"id": "c", "name": "echo", "arguments": "{}"},), 0.5, {"tokens": 3}, "m"
        ),
        ToolCalled("echo", "{}"),
        ToolJudged("echo", "allow", "ok", rule="tools", line="echo", policy="sha256:00"),
        ToolFinished("echo", True, "hello", 0.25, outcome={"code": 0}),
        StepEnd(1, 0.75),
    ]
    assert None not in [frequent_text(payload, 1, None) for payload in usual]


def test_what_json_cannot_hold_takes_the_long_way_that_says_so(tmp_path) -> None:
    with EventLog.create(tmp_path / "e.jsonl", run="r") as log:
        events = Events(run="r", log=log)
        events.emit(RunStart())
        with pytest.raises(LogError, match="a tool/result record cannot be written as JSON"):
            events.emit(ToolFinished("x", True, "", 0.1, outcome={"n": float("nan")}), step=1)
        with pytest.raises(LogError, match="a tool/call record cannot be written as JSON"):
            events.emit(ToolCalled(b"x", "{}"), step=1)  # type: ignore[arg-type]


def test_a_redactor_sees_every_record_however_frequent(tmp_path) -> None:
    path = tmp_path / "e.jsonl"
    with EventLog.create(path, run="r", redact=redactor(["hunter2"])) as log:
        events = Events(run="r", log=log)
        events.emit(RunStart())
        events.emit(ToolFinished("echo", True, "it is hunter2", 0.1), step=1, call="c")
        events.emit(RunEnd("completed"))
    assert "hunter2" not in path.read_text()
    assert [r.get("content") for r in read_events(path)] == [None, "it is [redacted]", None]
