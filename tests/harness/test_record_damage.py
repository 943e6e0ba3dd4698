"""Whatever is done to a log, `stockade runs verify` says where, and its exit code says that."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.cli.entry import run_command
from harness.record import EventLog, read_events, verify

KEY = b"k" * 32
Lines = list[bytes]


def write_run(folder: Path, run: str, *, key: bytes | None = None) -> EventLog:
    """A small run folder."""
    folder.mkdir(parents=True)
    log = EventLog.create(folder / "events.jsonl", run=run, key=key)
    log.append("run/start", task="demo")
    log.append("step/start", step=1)
    log.append("tool/call", step=1, call="c1", name="echo", arguments="{}", origin="model")
    log.append("tool/result", step=1, call="c1", name="echo", ok=True, content="gr\u00fcn \\n")
    log.append("step/end", step=1, calls=1, duration_seconds=0.5)
    log.append("run/end", status="completed")
    log.close()
    return log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of a small run."""
    write_run(tmp_path / "run", "r1")
    return tmp_path / "run" / "events.jsonl"


def lines_of(path: Path) -> Lines:
    return path.read_bytes().splitlines(keepends=True)


def missed_flips(log: Path, bits: Iterable[int]) -> list[tuple[int, int]]:
    """Where a flipped bit, at any byte of a log, is not found in its record."""
    whole = log.read_bytes()
    missed = []
    for place in range(len(whole)):
        record = whole[:place].count(b"\n")
        for bit in bits:
            edited = bytearray(whole)
            edited[place] ^= 1 << bit
            log.write_bytes(edited)
            found = verify(log)
            if (found.code, found.record) != (1, record):
                missed.append((place, bit))
    return missed


def test_a_flipped_bit_of_every_byte_is_found_in_its_record(log: Path) -> None:
    assert missed_flips(log, (0,)) == []


@pytest.mark.slow
def test_every_flipped_bit_is_found_in_its_record(log: Path) -> None:
    assert missed_flips(log, range(1, 8)) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_bytes_in_the_place_of_others_are_found(log: Path, data: st.DataObject) -> None:
    whole = log.read_bytes()
    start = data.draw(st.integers(0, len(whole) - 1))
    end = data.draw(st.integers(start, min(len(whole), start + 40)))
    strange = data.draw(st.binary(max_size=40))
    made = whole[:start] + strange + whole[end:]
    try:
        log.write_bytes(made)
        found = verify(log)
    finally:
        log.write_bytes(whole)
    if made == whole:
        assert found.code == 0
        return
    lines = whole.splitlines(keepends=True)
    first = next((n for n, line in enumerate(made.split(b"\n")[:-1]) if n >= len(lines)
                  or line + b"\n" != lines[n]), made.count(b"\n"))  # fmt: skip
    assert (found.code, found.record) in {(1, first), (1, None)}
    assert found.record is not None or made.endswith(b"\n")


def test_every_place_where_a_log_can_be_cut_is_found(log: Path) -> None:
    whole = log.read_bytes()
    missed = []
    for size in range(1, len(whole)):
        log.write_bytes(whole[:size])
        found = verify(log)
        at_end = whole[size - 1 : size] == b"\n"  # whole records remain: only the end is missing
        expected = None if at_end else whole[:size].count(b"\n")
        if (found.code, found.record) != (1, expected) or "cut" not in str(found.problem):
            missed.append((size, found))
    assert missed == []


def removed(lines: Lines, a: int, b: int) -> Lines:
    return lines[:a] + lines[a + 1 :]


def swapped(lines: Lines, a: int, b: int) -> Lines:
    made = list(lines)
    made[a], made[b] = made[b], made[a]
    return made


def repeated(lines: Lines, a: int, b: int) -> Lines:
    return [*lines[: b + 1], lines[a], *lines[b + 1 :]]


def moved(lines: Lines, a: int, b: int) -> Lines:
    rest = lines[:a] + lines[a + 1 :]
    return [*rest[:b], lines[a], *rest[b:]]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    edit=st.sampled_from([removed, swapped, repeated, moved]),
    a=st.integers(0, 5),
    b=st.integers(0, 5),
)
def test_the_first_record_out_of_its_place_is_named(
    log: Path, edit: Callable[[Lines, int, int], Lines], a: int, b: int
) -> None:
    lines = lines_of(log)
    made = edit(lines, a, b)
    try:
        log.write_bytes(b"".join(made))
        found = verify(log)
    finally:
        log.write_bytes(b"".join(lines))
    strange = [n for n, line in enumerate(made) if n >= len(lines) or line != lines[n]]
    if strange:
        assert (found.code, found.record) == (1, strange[0])
    elif len(made) < len(lines):
        assert (found.code, "the log is cut" in str(found.problem)) == (1, True)
    else:
        assert found.code == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(start=st.integers(0, 5), end=st.integers(1, 6), at=st.integers(1, 6))
def test_records_of_another_run_are_named_wherever_they_are_spliced_in(
    log: Path, start: int, end: int, at: int
) -> None:
    other = log.parent.parent / "other"
    if not other.exists():
        write_run(other, "r2")
    lines, others = lines_of(log), lines_of(other / "events.jsonl")
    strange = others[start:end]
    made = [*lines[:at], *strange, *lines[at:]]
    try:
        log.write_bytes(b"".join(made))
        found = verify(log)
    finally:
        log.write_bytes(b"".join(lines))
    assert (found.code, found.record) == ((1, at) if strange else (0, None))


def chained(records: list[dict[str, Any]]) -> bytes:
    """What somebody writes who knows the form, and chains a log anew after an edit."""
    previous, made = "0" * 64, b""
    for record in records:
        body = json.dumps(record, separators=(",", ":"))
        previous = sha256((previous + body).encode()).hexdigest()
        made += f'{body[:-1]},"hash":"{previous}"}}\n'.encode()
    return made


def forge(path: Path) -> None:
    """Edit a result and chain everything anew."""
    records = list(read_events(path))
    for record in records:
        del record["hash"]
    records[3]["content"] = "forged"
    path.write_bytes(chained(records))


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"echo", b"ecco", 1))


def verified(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """The exit code of the command line, and what it says."""
    code = run_command(["runs", "verify", *map(str, words)])
    got = capsys.readouterr()
    return code, got.out + got.err


def test_the_command_line_ends_with_0_for_a_whole_log(log: Path, capsys: Any) -> None:
    code, said = verified(capsys, log.parent)
    assert (code, "r1: 6 records, whole, unanchored, head " in said) == (0, True)


def test_the_command_line_names_the_record_and_ends_with_1(log: Path, capsys: Any) -> None:
    damage(log)
    assert verified(capsys, log.parent) == (
        1,
        "r1: record 2: its hash does not fit its content and the record before it\n",
    )


def test_the_command_line_ends_with_2_where_there_is_no_log(tmp_path: Path, capsys: Any) -> None:
    assert verified(capsys, tmp_path / "nothing")[0] == 2


def test_a_log_chained_anew_fits_itself_but_not_its_head(tmp_path: Path, capsys: Any) -> None:
    head = write_run(tmp_path / "run", "r1").head
    assert verified(capsys, tmp_path / "run", "--head", head)[0] == 0
    forge(tmp_path / "run" / "events.jsonl")
    plain, (code, said) = (
        verified(capsys, tmp_path / "run"),
        verified(capsys, tmp_path / "run", "--head", head),
    )
    assert (plain[0], code, "edited and chained anew" in said) == (0, 1, True)


def test_a_log_chained_anew_does_not_fit_the_head_in_its_result(
    tmp_path: Path, capsys: Any
) -> None:
    head = write_run(tmp_path / "run", "r1").head
    (tmp_path / "run" / "result.json").write_text(json.dumps({"log": {"head": head}}))
    assert verified(capsys, tmp_path / "run")[0] == 0
    forge(tmp_path / "run" / "events.jsonl")
    code, said = verified(capsys, tmp_path / "run")
    assert (code, f"result.json says that its head is {head}" in said) == (1, True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"log": {"head": "0" * 64, "records": 3}}, "its head is " + "0" * 64),
        ({"log": {"records": 99}}, "99 records"),
        ({"verdict": "failed"}, "verdict 'failed', but the log 'passed'"),
        ({"status": "aborted"}, "status 'aborted', but the log 'completed'"),
        ({"exit_code": 1}, "exit_code 1, but the log 0"),
    ],
)
def test_a_result_that_does_not_fit_its_log_is_damaged(
    tmp_path: Path, capsys: Any, change: dict[str, Any], said: str
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    log = EventLog.create(folder / "events.jsonl", run="r1")
    log.append("run/start")
    log.append("run/end", status="completed", verdict="passed", exit_code=0)
    log.close()
    result = {"status": "completed", "verdict": "passed", "exit_code": 0}
    result["log"] = {"head": log.head, "records": 2}
    (folder / "result.json").write_text(json.dumps(result))
    code, told = verified(capsys, folder)
    assert (code, "unanchored" in told) == (0, True)
    (folder / "result.json").write_text(json.dumps({**result, **change}))
    code, told = verified(capsys, folder, "--head", log.head)
    assert (code, "damaged" in told, said in told) == (1, True, True), told


def test_a_result_that_is_gone_is_told(tmp_path: Path, capsys: Any) -> None:
    write_run(tmp_path / "run", "r1")
    assert run_command(["runs", "verify", str(tmp_path / "run")]) == 0
    assert "there is no result.json beside its log" in capsys.readouterr().err


@pytest.mark.parametrize("whose", ["the forger's own key", "no key"])
def test_a_log_chained_anew_does_not_fit_its_key(tmp_path: Path, capsys: Any, whose: str) -> None:
    key = tmp_path / "key"
    key.write_bytes(KEY + b"\n")
    write_run(tmp_path / "run", "r1", key=KEY)
    assert verified(capsys, tmp_path / "run", "--key", key)[0] == 0
    path = tmp_path / "run" / "events.jsonl"
    forge(path)
    if whose == "no key":
        path.with_suffix(".seal").unlink()
    code, said = verified(capsys, tmp_path / "run", "--key", key)
    assert (code, "seal" in said) == (1, True)


def test_head_and_key_are_both_asked_for(tmp_path: Path) -> None:
    log = write_run(tmp_path / "run", "r1", key=KEY)
    path = tmp_path / "run" / "events.jsonl"
    assert verify(path, head=log.head, key=KEY).code == 0
    assert verify(path, head=log.head, key=b"other" * 8).code == 1
    assert verify(path, head="0" * 64, key=KEY).code == 1


def test_a_part_of_a_rotated_log_that_is_lost_or_changed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog.create(path, run="r", rotate_bytes=400)
    log.append("run/start")
    for number in range(12):
        log.append("notice", kind="x", text=str(number) * 40)
    log.append("run/end", status="completed")
    log.close()
    second = tmp_path / "events.000002.jsonl"
    first_of_second = json.loads(second.read_bytes().splitlines()[0])["seq"]
    kept = second.read_bytes()
    second.write_bytes(kept.replace(b'"text":"', b'"text":"!', 1))
    assert (verify(path).code, verify(path).record) == (1, first_of_second)
    second.unlink()
    assert (verify(path).code, verify(path).record) == (1, first_of_second)
    second.write_bytes(kept)
    assert verify(path, head=log.head).code == 0
