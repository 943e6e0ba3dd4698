"""The log: its bytes, its chain, its verification."""

from __future__ import annotations

import errno
import json
import os
import time
from hashlib import sha256
from pathlib import Path

import pytest

from harness.bus import Events
from harness.errors import LogError
from harness.event import Notice, RunEnd, RunStart
from harness.record import EventLog, read_events, redactor, verify
from tests.harness.doubles import agent_of, asks, says, tool_of


def small_log(path: Path, run: str = "r1", *, key: bytes | None = None) -> EventLog:
    log = EventLog.create(path, run=run, key=key)
    log.append("run/start", task="demo")
    log.append("step/start", step=1)
    log.append("tool/result", step=1, call="c1", content="grün \u2028 \udc80")
    log.append("run/end", status="completed")
    log.close()
    return log


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_the_bytes_of_a_record_are_those_of_the_decision(tmp_path) -> None:
    log = small_log(tmp_path / "events.jsonl")
    previous = "0" * 64
    for number, line in enumerate(lines_of(tmp_path / "events.jsonl")):
        record = json.loads(line)
        assert next(iter(record)) == "seq"
        assert list(record)[-1] == "hash"
        assert record["seq"] == number
        digest = record.pop("hash")
        body = json.dumps(record, separators=(",", ":"), ensure_ascii=True)
        assert digest == sha256((previous + body).encode("ascii")).hexdigest()
        assert line == f'{body[:-1]},"hash":"{digest}"}}\n'.encode("ascii")
        assert isinstance(record["t"], float)
        assert record["at"].endswith("Z")
        previous = digest
    assert log.head == previous


@pytest.mark.req("S-232")
def test_a_log_is_appended_to_and_reads_back_in_order(tmp_path) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    sizes = []
    for number in range(3):
        assert log.append("notice" if number else "run/start", n=number) == number
        sizes.append((tmp_path / "e.jsonl").stat().st_size)
    assert sizes == sorted(set(sizes))
    assert [record["n"] for record in read_events(tmp_path / "e.jsonl")] == [0, 1, 2]


def test_a_whole_log_is_fine_and_says_that_nothing_anchors_it(tmp_path) -> None:
    log = small_log(tmp_path / "e.jsonl")
    found = verify(tmp_path / "e.jsonl")
    assert (found.code, found.problem, found.records, found.anchored) == (0, None, 4, None)
    assert verify(tmp_path / "e.jsonl", head=log.head).anchored == "head"


def test_a_log_that_is_not_there_is_two(tmp_path) -> None:
    found = verify(tmp_path / "none.jsonl")
    assert (found.code, found.ended, found.records, found.torn) == (2, False, 0, False)


def test_an_empty_log_is_damaged(tmp_path) -> None:
    (tmp_path / "e.jsonl").touch()
    assert verify(tmp_path / "e.jsonl").code == 1


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda ls: ls[:1] + ls[2:], "record 1: its hash does not fit"),
        (lambda ls: [ls[0], ls[2], ls[1], ls[3]], "record 1: its hash does not fit"),
        (lambda ls: [*ls[:2], ls[1], *ls[2:]], "record 2: its hash does not fit"),
        (lambda ls: ls[:-1], "the log is cut"),
        (lambda ls: [*ls[:-1], ls[-1][:20]], "record 3: the log is cut in the middle"),
        (lambda ls: [*ls[:-1], ls[-1][:-1]], "record 3: the log is cut in the middle"),
        (lambda ls: [b"\n", *ls], "record 0: it is not JSON"),
        (lambda ls: [ls[0].replace(b":", b": ", 1), *ls[1:]], "record 0: its hash does not fit"),
    ],
    ids=["removed", "swapped", "repeated", "tail cut", "torn", "no newline", "blank", "spaced"],
)
def test_damage_is_named(tmp_path, edit, problem: str) -> None:
    path = tmp_path / "e.jsonl"
    small_log(path)
    path.write_bytes(b"".join(edit(lines_of(path))))
    found = verify(path)
    assert found.code == 1
    assert problem in (found.problem or "")


def chained(records: list[dict]) -> bytes:
    """What somebody writes who knows the form and edits a log."""
    previous, made = "0" * 64, b""
    for record in records:
        body = json.dumps(record, separators=(",", ":"))
        previous = sha256((previous + body).encode()).hexdigest()
        made += f'{body[:-1]},"hash":"{previous}"}}\n'.encode()
    return made


def bare(path: Path) -> list[dict]:
    records = list(read_events(path))
    for record in records:
        del record["hash"]
    return records


def test_a_log_that_was_edited_and_chained_anew_is_caught_by_the_head(tmp_path) -> None:
    path = tmp_path / "e.jsonl"
    log = small_log(path)
    records = bare(path)
    records[2]["content"] = "forged"
    path.write_bytes(chained(records))
    assert verify(path).code == 0
    found = verify(path, head=log.head)
    assert (found.code, found.anchored) == (1, None)
    assert "chained anew" in (found.problem or "")


def test_a_log_that_was_edited_and_chained_anew_is_caught_by_the_key(tmp_path) -> None:
    path = tmp_path / "e.jsonl"
    small_log(path, key=b"secret")
    assert verify(path, key=b"secret").anchored == "key"
    assert verify(path, key=b"other").code == 1
    records = bare(path)
    path.write_bytes(chained(records[:2] + records[3:]))
    path.write_bytes(chained([{**r, "seq": n} for n, r in enumerate(records[:2] + records[3:])]))
    assert verify(path).code == 0
    assert verify(path, key=b"secret").code == 1
    path.with_suffix(".seal").unlink()
    assert "no seal" in (verify(path, key=b"secret").problem or "")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({1: {"seq": 7}}, "record 1: its number is 7"),
        ({1: {"type": "step/begin"}}, "record 1: its type 'step/begin' is unknown"),
        ({1: {"run": "r2"}}, "record 1: it belongs to another run: 'r2'"),
        ({0: {"schema": 2}}, "record 0: its schema is 2, not 1"),
        ({0: {"type": "step/start"}}, "record 0: the log begins with step/start"),
        ({2: {"type": "run/end"}}, "record 3: a run/end follows the end of the run"),
    ],
)
def test_a_chain_that_holds_is_not_enough(tmp_path, change, problem: str) -> None:
    path = tmp_path / "e.jsonl"
    small_log(path)
    records = bare(path)
    for number, fields in change.items():
        records[number].update(fields)
    path.write_bytes(chained(records))
    found = verify(path)
    assert (found.code, problem in (found.problem or "")) == (1, True)


def test_records_of_another_run_are_found(tmp_path) -> None:
    small_log(tmp_path / "a.jsonl", "a")
    small_log(tmp_path / "b.jsonl", "b")
    mixed = lines_of(tmp_path / "a.jsonl")[:2] + lines_of(tmp_path / "b.jsonl")[2:]
    (tmp_path / "a.jsonl").write_bytes(b"".join(mixed))
    assert verify(tmp_path / "a.jsonl").record == 2


def test_a_log_is_never_overwritten(tmp_path) -> None:
    small_log(tmp_path / "e.jsonl")
    with pytest.raises(LogError, match="cannot be made: there is one already"):
        EventLog.create(tmp_path / "e.jsonl", run="r")


def test_a_torn_log_goes_on_after_its_last_whole_record(tmp_path) -> None:
    path = tmp_path / "e.jsonl"
    small_log(path)
    path.write_bytes(b"".join(lines_of(path)[:3]) + b'{"seq":3,"type"')
    with EventLog.reopen(path) as log:
        log.append("run/resumed")
        log.append("run/end", status="completed")
    assert [r["type"] for r in read_events(path)][3:] == ["run/resumed", "run/end"]
    assert verify(path, head=log.head).code == 0


def test_only_a_torn_tail_is_mended(tmp_path) -> None:
    path = tmp_path / "e.jsonl"
    small_log(path)
    lines = lines_of(path)
    path.write_bytes(b"".join([lines[0], lines[2], lines[3]]))
    with pytest.raises(LogError, match="cannot be continued: record 1"):
        EventLog.reopen(path)
    assert path.read_bytes() == b"".join([lines[0], lines[2], lines[3]])


def test_a_log_with_nothing_in_it_cannot_be_continued(tmp_path) -> None:
    (tmp_path / "e.jsonl").write_bytes(b'{"seq":0')
    with pytest.raises(LogError, match="nothing was recorded"):
        EventLog.reopen(tmp_path / "e.jsonl")


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("step/begin", {}, "no record type"),
        ("notice", {"seq": 1}, "repeats a key"),
        ("notice", {"hash": "x"}, "repeats a key"),
        ("notice", {"x": b"raw"}, "cannot hold a bytes"),
        ("notice", {"x": float("nan")}, "cannot be written as JSON"),
    ],
)
def test_what_is_no_record_is_refused_and_the_log_stays_whole(
    tmp_path, kind: str, fields: dict, words: str
) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    log.append("run/start")
    with pytest.raises(LogError, match=words):
        log.append(kind, **fields)
    log.append("run/end", status="completed")
    log.close()
    assert verify(tmp_path / "e.jsonl").code == 0


def test_redaction_happens_before_the_hash(tmp_path) -> None:
    def redact(fields: dict) -> dict:
        return {k: "***" if v == "s3cret" else v for k, v in fields.items()}

    log = EventLog.create(tmp_path / "e.jsonl", run="r", redact=redact)
    log.append("run/start", token="s3cret")
    log.append("run/end", status="completed")
    log.close()
    assert b"s3cret" not in (tmp_path / "e.jsonl").read_bytes()
    assert verify(tmp_path / "e.jsonl").code == 0


def test_a_redactor_that_raises_withholds_the_record(tmp_path) -> None:
    def redact(fields: dict) -> dict:
        raise KeyError("s3cret")

    log = EventLog.create(tmp_path / "e.jsonl", run="r", redact=redact)
    log.append("run/start", token="s3cret")
    [record] = read_events(tmp_path / "e.jsonl")
    assert record["withheld"] == "the redactor raised KeyError"
    assert "s3cret" not in repr(record)


def append_until(end: float, log: EventLog) -> None:
    """Append what is acted on until then."""
    while time.monotonic() < end:
        log.append("tool/verdict")


def test_a_log_whose_file_was_removed_takes_no_more(tmp_path) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    log.append("run/start")
    (tmp_path / "e.jsonl").unlink()
    end = time.monotonic() + 1
    with pytest.raises(LogError, match="a record could not be written: the file was removed"):
        append_until(end, log)
    with pytest.raises(LogError, match="the file was removed"):
        log.append("notice")


def test_two_cannot_write_the_same_log(tmp_path) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    log.append("run/start")
    with pytest.raises(LogError, match="cannot be continued: another process writes it"):
        EventLog.reopen(tmp_path / "e.jsonl")
    log.close()
    EventLog.reopen(tmp_path / "e.jsonl").close()


async def test_a_run_stops_rather_than_go_on_unlogged(tmp_path, monkeypatch) -> None:
    bodies: list[str] = []

    async def body(arguments, execution) -> str:
        bodies.append(execution.call_id)
        return "x"

    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    agent = agent_of(
        asks(("echo", {})),
        asks(("echo", {})),
        says("x"),
        tools=[tool_of(body=body)],
        events=Events(run="r", log=log),
    )
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if log.count >= 9 and b'"seq"' in data:
            write(descriptor, data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(LogError, match="No space left on device"):
        await agent.run("go")
    monkeypatch.undo()
    assert len(bodies) == 1
    assert len(list(read_events(tmp_path / "e.jsonl"))) == 9
    with pytest.raises(LogError):
        log.append("run/end", status="x")


@pytest.mark.parametrize("fsync", ["none", "end", "step", "event"])
def test_each_choice_of_fsync_writes_the_same_log(tmp_path, fsync) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r", fsync=fsync)
    log.append("run/start")
    log.append("run/end", status="completed")
    log.close()
    log.close()
    assert verify(tmp_path / "e.jsonl").code == 0


def test_the_disk_is_waited_for_as_often_as_said(tmp_path, monkeypatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(os, "fsync", calls.append)
    monkeypatch.setattr(os, "fdatasync", calls.append)
    for fsync in ("none", "end", "step", "event"):
        log = EventLog.create(tmp_path / f"{fsync}.jsonl", run="r", fsync=fsync)
        calls.clear()
        for kind in ("run/start", "step/start", "notice", "step/end", "run/end"):
            log.append(kind)
        assert len(calls) == {"none": 0, "end": 1, "step": 3, "event": 5}[fsync]
        log.close()


@pytest.mark.parametrize(("last", "waits"), [("run/end", 0), ("notice", 1)])
def test_a_log_that_closes_waits_for_what_is_not_on_the_disk_yet(
    tmp_path, monkeypatch, last: str, waits: int
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(os, "fdatasync", calls.append)
    log = EventLog.create(tmp_path / "e.jsonl", run="r", fsync="end")
    log.append("run/start")
    log.append(last)
    calls.clear()
    log.close()
    assert len(calls) == waits


def test_a_log_is_readable_by_its_owner_alone(tmp_path) -> None:
    small_log(tmp_path / "e.jsonl")
    assert (tmp_path / "e.jsonl").stat().st_mode & 0o777 == 0o600


def test_events_spread_their_facts_and_leave_out_what_is_absent(tmp_path) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    events = Events(run="r", log=log)
    events.emit(RunStart({"policy": "readonly"}))
    events.emit(Notice("odd", "text"), step=3, call="c9")
    events.emit(RunEnd("completed"))
    first, second, third = (
        {k: v for k, v in r.items() if k not in ("at", "t", "hash")}
        for r in read_events(tmp_path / "e.jsonl")
    )
    assert first == {"seq": 0, "type": "run/start", "run": "r", "schema": 1, "policy": "readonly"}
    assert second == {
        "seq": 1,
        "type": "notice",
        "run": "r",
        "step": 3,
        "call": "c9",
        "kind": "odd",
        "text": "text",
    }
    assert third == {"seq": 2, "type": "run/end", "run": "r", "status": "completed"}


@pytest.mark.req("S-231")
async def test_every_finished_call_is_in_the_log(tmp_path) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    agent = agent_of(
        asks(("echo", {"text": "hi"}), ("none", {})),
        says("ok"),
        tools=[tool_of()],
        events=Events(run="r", log=log),
    )
    await agent.run("go")
    results = [r for r in read_events(tmp_path / "e.jsonl") if r["type"] == "tool/result"]
    assert [(r["call"], r["name"], r["ok"], r["step"]) for r in results] == [
        ("c1", "echo", True, 1),
        ("c2", "none", False, 1),
    ]
    assert results[0]["content"] == "hi"


@pytest.mark.req("S-233")
async def test_the_whole_conversation_can_be_made_again_from_the_log(tmp_path) -> None:
    log = EventLog.create(tmp_path / "e.jsonl", run="r")
    agent = agent_of(
        asks(("echo", {"text": "hi"})),
        says("bye"),
        tools=[tool_of()],
        system="Be brief.",
        events=Events(run="r", log=log),
    )
    result = await agent.run("go")
    made: list[tuple[str, str]] = []
    for record in read_events(tmp_path / "e.jsonl"):
        if record["type"] == "model/request":
            made += [(m["role"], m["text"]) for m in record.get("added", ())]
        elif record["type"] == "model/reply":
            made.append(("assistant", record["text"]))
        elif record["type"] == "tool/result":
            made.append(("tool", record["content"]))
    said = [
        (
            type(m).__name__.lower().removesuffix("message"),
            getattr(m, "text", None) or getattr(m, "content", ""),
        )
        for m in result.messages
    ]
    assert made == said


# --- rotation and redaction ------------------------------------------------------------------


def rotated(path: Path, records: int = 12) -> EventLog:
    log = EventLog.create(path, run="r", rotate_bytes=600, key=b"k")
    log.append("run/start")
    for number in range(records - 2):
        log.append("notice", text=f"number {number}")
    log.append("run/end", status="completed")
    log.close()
    return log


def test_a_rotated_log_is_one_log(tmp_path) -> None:
    path = tmp_path / "events.jsonl"
    log = rotated(path)
    names = sorted(file.name for file in tmp_path.glob("*.jsonl"))
    assert names[:2] == ["events.000001.jsonl", "events.000002.jsonl"]
    assert names[-1] == "events.jsonl"
    assert [record["seq"] for record in read_events(path)] == list(range(12))
    assert verify(path, head=log.head).anchored == "head"
    assert verify(path, key=b"k").anchored == "key"


@pytest.mark.parametrize("damage", ["missing", "torn", "swapped"])
def test_damage_to_a_closed_part_is_found_and_not_mended(tmp_path, damage: str) -> None:
    path = tmp_path / "events.jsonl"
    rotated(path)
    first, second = tmp_path / "events.000001.jsonl", tmp_path / "events.000002.jsonl"
    if damage == "missing":
        second.unlink()
    elif damage == "torn":
        first.write_bytes(first.read_bytes()[:-5])
    else:
        one, two = first.read_bytes(), second.read_bytes()
        first.write_bytes(two)
        second.write_bytes(one)
    found = verify(path)
    assert (found.code, found.torn) == (1, False)
    with pytest.raises(LogError, match="cannot be continued"):
        EventLog.reopen(path)


@pytest.mark.parametrize("crash", ["torn", "between"])
def test_a_rotated_log_goes_on_after_a_crash(tmp_path, crash: str) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog.create(path, run="r", rotate_bytes=300)
    log.append("run/start")
    while not (tmp_path / "events.000001.jsonl").exists():
        log.append("notice", text="x")
    if crash == "torn":
        log.append("notice", text="y")
        path.write_bytes(path.read_bytes()[:-3])
    else:
        path.unlink()  # renamed, and the new file was not made yet
    log.close()
    with EventLog.reopen(path, rotate_bytes=300) as again:
        again.append("run/resumed")
        again.append("run/end", status="completed")
    assert verify(path, head=again.head).code == 0


def test_secrets_and_what_looks_like_them_are_not_written(tmp_path) -> None:
    redact = redactor(["hunter2", "hunter22", ""], [r"sk-[a-z0-9]{6}"])
    log = EventLog.create(tmp_path / "e.jsonl", run="r", redact=redact)
    log.append("run/start", a="hunter22 and hunter2", b=[{"sk-abc123": ("x sk-000000", 5, None)}])
    [record] = read_events(tmp_path / "e.jsonl")
    assert record["a"] == "[redacted] and [redacted]"
    assert record["b"] == [{"[redacted]": ["x [redacted]", 5, None]}]
    assert redactor()({"a": "hunter2"}) == {"a": "hunter2"}


def test_a_pipe_in_the_place_of_a_log_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events.jsonl")
    with pytest.raises(LogError, match="no regular file"):
        list(read_events(tmp_path / "events.jsonl"))
    assert verify(tmp_path / "events.jsonl").code == 2
