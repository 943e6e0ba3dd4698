"""A log may hold anything: no command that reads one fails as if it were our fault."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.cli.entry import run_command
from harness.record import FIRST_PREVIOUS, chain_hash, encode_body
from tests.harness.replay.test_replay import record

COMMANDS = (
    ("runs", "show"),
    ("runs", "show", "--json"),
    ("runs", "verify"),
    ("runs", "report"),
    ("runs", "export"),
    ("runs", "export", "--to", "openai"),
    ("runs", "export", "--to", "mini"),
    ("runs", "export", "--to", "junit"),
    ("runs", "export", "--to", "script"),
    ("runs", "replay", "--policy", "python-dev"),
    ("runs", "redecide", "--policy", "readonly"),
    ("runs", "resume", "--close"),
)

WORDS = st.sampled_from(
    ("", "[]", "{}", "[[[", '{"argv": 5}', '{"path": 7}', "of/call", "run/end", "tool/result",
     "nowhere", "a\ud800b", "\x1b[31m", "deny", "exited", "finish", "run_command", "1e999")
)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.sampled_from([10**400, 1e308, -1e308, 5e-324])
    | WORDS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "name", "text", "role", "argv", "path", "ending", "code"])
            | st.sampled_from(["outcomes", "isolation", "root", "cost", "input_tokens", "steps"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The records of a run that did a little of everything."""
    first, second, *rest = asyncio.run(record(tmp_path_factory.mktemp("real")))
    made = [{**second, "schema": 1}, first, *rest]
    first.pop("schema", None)
    return [{**one, "seq": number} for number, one in enumerate(made)]


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value can be put into a record, at any depth."""
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: object) -> Any:
    """A copy with another value in one place."""
    made = json.loads(json.dumps(value))
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return made


def write_chained(path: Path, records: list[dict[str, Any]]) -> None:
    """Records as a log whose chain fits, as a forger leaves it."""
    head = FIRST_PREVIOUS
    with path.open("w") as file:
        for one in records:
            body = encode_body({key: value for key, value in one.items() if key != "hash"})
            head = chain_hash(head, body)
            file.write(f'{body[:-1]},"hash":"{head}"}}\n')


@contextmanager
def standard_streams() -> Iterator[Callable[[], str]]:
    """Streams that are strict about what they can encode, as real ones are."""
    kept = sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    sys.stdout, sys.stderr = out, err
    try:
        yield lambda: b"".join(s.buffer.getvalue() for s in (out, err)).decode()  # type: ignore[attr-defined]
    finally:
        sys.stdout, sys.stderr = kept


def ends_well(folder: Path, words: tuple[str, ...]) -> None:
    """No command says that the fault is its own."""
    with standard_streams() as said:
        code = run_command([*words[:2], str(folder), *words[2:]])
        sys.stdout.flush()
        sys.stderr.flush()
        text = said()
    assert "internal error" not in text, (words, text)
    assert "Traceback" not in text, (words, text)
    assert code in {0, 1, 2}, (words, code, text)
    assert "\x1b" not in text, (words, text)


def try_all(folder: Path, records: list[dict[str, Any]]) -> None:
    """Every command on a run folder that holds these records."""
    for words in COMMANDS:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_chained(folder / "events.jsonl", records)
        ends_well(folder, words)


@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_value_in_any_place_of_a_log_is_no_fault_of_ours(
    tmp_path: Path, lines: list[dict[str, Any]], data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, len(lines) - 1))
    path = data.draw(st.sampled_from(list(places(lines[number]))))
    records = list(lines)
    records[number] = put(lines[number], path, data.draw(VALUES))
    try_all(tmp_path / "run", records)


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("tool/call", ("type",), "of/call"),
        ("run/start", ("t",), 1e308),
        ("model/reply", ("calls",), [5]),
        ("model/request", ("added",), 5),
        ("model/request", ("step",), "x"),
        ("tool/result", ("outcome",), {"outcomes": [5]}),
        ("notice", ("detail",), {"isolation": "none", "root": 5}),
        ("tool/verdict", ("decision",), "perhaps"),
    ],
)
def test_a_field_of_another_kind_is_no_fault_of_ours(
    tmp_path: Path, lines: list[dict[str, Any]], kind: str, path: tuple[str, ...], value: object
) -> None:
    records = list(lines)
    number = next(i for i, one in enumerate(lines) if one["type"] == kind)
    records[number] = put(lines[number], path, value)
    try_all(tmp_path / "run", records)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("runs", "verify"), 1),
        (("runs", "show"), 2),
        (("runs", "export"), 2),
        (("runs", "replay", "--policy", "readonly"), 2),
        (("runs", "redecide", "--policy", "readonly"), 2),
    ],
    ids=lambda words: words[1] if isinstance(words, tuple) else "",
)
def test_a_field_of_another_type_is_named_with_its_record(
    tmp_path: Path, lines: list[dict[str, Any]], words: tuple[str, ...], code: int, capsys: Any
) -> None:
    number = next(i for i, one in enumerate(lines) if one["type"] == "model/reply")
    records = [*lines]
    records[number] = {**lines[number], "text": 5}
    write_chained(tmp_path / "events.jsonl", records)
    found = run_command([*words[:2], str(tmp_path), *words[2:]])
    said = "".join(capsys.readouterr())
    named = f"record {number}" in said and "field text is an integer, not a text" in said
    assert (found, named) == (code, True), said
