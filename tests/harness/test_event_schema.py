"""The published schema of the log's records."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import harness
from harness.bus import Events
from harness.event_schema import event_schema
from harness.record import TYPES, EventLog, read_events
from tests.harness.doubles import TableJudge, agent_of, asks, says, tool_of

PUBLISHED = Path(harness.__file__).parents[1] / "docs" / "schema" / "events.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(event_schema())


def test_the_published_schema_is_that_of_the_code() -> None:
    """Made anew by writing json.dumps(event_schema(), indent=2) there."""
    assert json.loads(PUBLISHED.read_text("utf-8")) == event_schema()


def test_every_type_of_record_has_its_form() -> None:
    assert {form["title"] for form in event_schema()["oneOf"]} == {*TYPES, "withheld"}


async def test_the_records_of_a_run_fit_it(tmp_path) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    agent = agent_of(
        asks(("echo", {"text": "a"}), ("echo", "{"), ("none", {}), ("ask", {})),
        says("ok"),
        tools=[tool_of(), tool_of("ask")],
        policy=TableJudge(tools={"echo": "allow", "ask": "ask"}),
        events=Events(run="r", log=log),
        system="Be brief.",
    )
    await agent.run("go")
    records = list(read_events(tmp_path / "e.jsonl"))
    for record in records:
        VALIDATOR.validate(record)
    assert len({record["type"] for record in records}) == 11


def test_a_withheld_record_fits_it(tmp_path) -> None:
    def fails(fields: dict[str, object]) -> dict[str, object]:
        raise ValueError

    log = EventLog.create(tmp_path / "e.jsonl", run="r", redact=fails)
    log.append("run/start", task="secret")
    log.append("tool/call", name="secret")
    for record in read_events(tmp_path / "e.jsonl"):
        VALIDATOR.validate(record)


@pytest.mark.parametrize("change", [{"step": "1"}, {"name": None}, {"more": 1}, {"type": "x"}])
async def test_what_is_no_record_does_not(tmp_path, change: dict[str, object]) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    log.append("run/start")
    log.append("tool/call", step=1, call="c1", name="echo", arguments="{}", origin="model")
    record = list(read_events(tmp_path / "e.jsonl"))[1]
    assert VALIDATOR.is_valid(record)
    assert not VALIDATOR.is_valid({**record, **change})
