"""A supervisor that lies can at worst spoil its own session: every wrong frame is refused."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies import Isolation, PathCheck, Pipeline, Stage
from runners import Ending, ProtocolError, RunnerError, UnresolvedError
from runners.client import SupervisedSession, connect
from runners.client.wire import parse_head, read_frames
from runners.setup import Setup
from runners.supervisor import frames

TRUE = Pipeline((Stage(("true",)),))
HELLO = {"t": "hello", "version": 1, "facts": {}}
DONE = {
    "t": "done",
    "c": 1,
    "ending": "exited",
    "limit": None,
    "codes": [0],
    "error": "",
    "hits": [],
    "wall": 0.1,
    "cpu": 0.1,
    "rss": None,
    "totals": [0, 0],
}


def frame(head: object, body: bytes = b"") -> bytes:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack(">II", len(text), len(body)) + text + body


class Liar:
    """A channel whose box answers each OPEN with prepared bytes."""

    def __init__(self, answer: bytes | Callable[[int], bytes]) -> None:
        self._answer = answer
        self._out = bytearray(frame(HELLO))
        self._arrived = asyncio.Event()
        self._arrived.set()
        self.closed = 0
        self.sent = bytearray()

    async def read(self, count: int) -> bytes:
        while not self._out and not self.closed:
            self._arrived.clear()
            await self._arrived.wait()
        data = bytes(self._out[:count])
        del self._out[:count]
        return data

    async def write(self, data: bytes) -> None:
        self.sent += data
        if data[:1] == bytes([frames.OPEN]):
            number = struct.unpack_from(">I", data, 4)[0]
            answer = self._answer(number) if callable(self._answer) else self._answer
            self._out += answer
            self._arrived.set()

    async def close(self) -> None:
        self.closed += 1
        self._arrived.set()

    def diagnosis(self) -> str:
        return ""


async def lying(answer: bytes | Callable[[int], bytes]) -> SupervisedSession:
    setup = Setup(roots={"workspace": "/workspace"})
    return await connect(Liar(answer), setup, id="x", isolation=Isolation.PROCESS, image={})


def changed(**changes: object) -> dict[str, object]:
    return {key: value for key, value in {**DONE, **changes}.items() if value != "absent"}


async def test_an_honest_answer_is_taken():
    session = await lying(frame(DONE))
    outcome = await session.run(TRUE)
    assert (outcome.ending, outcome.code) == (Ending.EXITED, 0)
    await session.close()


WRONG_FRAMES = {
    "head too long": struct.pack(">II", frames.HEAD_MAX + 1, 0),
    "body too long": struct.pack(">II", 10, frames.BODY_MAX + 1),
    "huge": b"\xff" * 8,
    "no json": frame(b"{nope"),
    "not ascii": frame('{"t":"é"}'.encode()),
    "no object": frame([1]),
    "deep": frame(b"[" * 60000),
    "not a number": frame(b'{"t":"pong","n":NaN}'),
    "empty": frame(b""),
    "unknown type": frame({"t": "exec", "c": 1}),
    "type is no text": frame({"t": ["out"], "c": 1}),
    "call is no number": frame({"t": "done", "c": "1"}),
    "call is a boolean": frame({"t": "done", "c": True}),
    "call is negative": frame({"t": "done", "c": -1}),
    "offset is huge": frame({"t": "out", "c": 1, "s": 1, "at": 1 << 70}, b"x"),
    "offset missing": frame({"t": "out", "c": 1, "s": 1}, b"x"),
    "stream 0": frame({"t": "out", "c": 1, "s": 0, "at": 0}, b"x"),
    "stream 9": frame({"t": "out", "c": 1, "s": 9, "at": 0}, b"x"),
    "out of order": frame({"t": "out", "c": 1, "s": 1, "at": 5}, b"x")
    + frame({"t": "out", "c": 1, "s": 1, "at": 0}, b"x"),
    "more than the window": b"".join(
        frame({"t": "out", "c": 1, "s": 1, "at": at * 200_000}, bytes(200_000)) for at in range(6)
    ),
    "body where none belongs": frame(DONE, b"body"),
    "second hello": frame(HELLO),
    "late failure": frame({"t": "fail", "text": "x"}),
    "half a frame, then the end": None,
    "no ending": frame(changed(ending="absent")),
    "unknown ending": frame(changed(ending="fine")),
    "no codes": frame(changed(codes=[])),
    "too many codes": frame(changed(codes=[0, 0])),
    "impossible code": frame(changed(codes=[1000])),
    "code is a text": frame(changed(codes=["0"])),
    "unknown limit": frame(changed(limit="patience")),
    "limit is a list": frame(changed(limit=["cpu_seconds"])),
    "unknown evidence": frame(changed(hits=[["cpu_seconds", "rumour"]])),
    "malformed hit": frame(changed(hits=["cpu_seconds"])),
    "hit of a list": frame(changed(hits=[[["cpu_seconds"], "signal"]])),
    "negative time": frame(changed(wall=-1)),
    "endless time": frame(b'{"t":"done","c":1,"wall":1e999}'),
    "no totals": frame(changed(totals="absent")),
    "negative totals": frame(changed(totals=[-1, 0])),
    "error is no text": frame(changed(error=5)),
    "rss is a text": frame(changed(rss="1")),
}


@pytest.mark.parametrize("name", WRONG_FRAMES)
async def test_a_wrong_frame_is_a_protocol_error(name):
    answer = WRONG_FRAMES[name]
    session = await lying(answer if answer is not None else struct.pack(">II", 100, 0) + b"{")
    if answer is None:
        channel = session._link._channel
        asyncio.get_running_loop().call_later(0.05, lambda: asyncio.ensure_future(channel.close()))
    with pytest.raises(ProtocolError):
        await asyncio.wait_for(session.run(TRUE), 5)
    await session.close()


async def test_after_a_wrong_frame_the_session_is_closed():
    session = await lying(frame(b"nonsense"))
    with pytest.raises(ProtocolError):
        await session.run(TRUE)
    with pytest.raises(RunnerError):
        await session.run(TRUE)
    await session.close()
    assert session._link._channel.closed >= 1


async def test_a_frame_for_an_unknown_call_is_dropped_and_counted():
    lies = b"".join(
        frame({"t": kind, "c": 77, "s": 1, "at": 0, "n": 1}, body)
        for kind, body in [("out", b"x"), ("credit", b""), ("stop", b""), ("done", b"")]
    )
    session = await lying(lies + frame(DONE))
    assert (await session.run(TRUE)).ok
    assert session.dropped_frames == 4
    await session.close()


async def test_frames_after_the_last_one_of_a_call_are_dropped():
    late = frame({"t": "out", "c": 1, "s": 1, "at": 0}, b"late") + frame(changed(codes=[9]))
    session = await lying(frame(DONE) + late)
    outcome = await session.run(TRUE)
    assert (outcome.code, outcome.stdout.total) == (0, 0)
    assert session.dropped_frames == 2
    await session.close()


async def test_a_pong_nobody_asked_for_is_harmless():
    session = await lying(frame({"t": "pong", "n": 12345}) + frame(DONE))
    assert (await session.run(TRUE)).ok
    await session.close()


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        ({"value": {"offset": 0, "size": -5, "mode": 0}}, "read_file"),
        ({"value": {"offset": 0, "size": True, "mode": 0}}, "read_file"),
        ({"value": []}, "read_file"),
        ({}, "read_file"),
        ({"fault": ["made-up", "", "x"]}, "read_file"),
        ({"fault": "denied"}, "read_file"),
        ({"value": {"total": 1}, "body": b'[["a","file",1]]'}, "list_dir"),
        ({"value": {"total": 1}, "body": b'{"a":1}'}, "list_dir"),
        ({"value": {"total": 1}, "body": b"[" * 5000}, "list_dir"),
        ({"value": {"complete": True}, "body": b"[1]"}, "find_files"),
        ({"value": {"complete": 1}, "body": b"[]"}, "find_files"),
    ],
)
async def test_a_wrong_answer_of_a_file_operation_is_a_protocol_error(answer, call):
    body = answer.pop("body", b"")
    out = frame({"t": "out", "c": 1, "s": 1, "at": 0}, body) if body else b""
    session = await lying(out + frame({"t": "done", "c": 1, "totals": [len(body)], **answer}))
    with pytest.raises(ProtocolError):
        await getattr(session, call)("x")
    await session.close()


async def test_paths_that_could_not_be_looked_at_in_time_are_no_escape():
    late = {"fault": ["other", "", "it took longer than 5 seconds"]}
    session = await lying(frame({"t": "done", "c": 1, "totals": [0], **late}))
    with pytest.raises(UnresolvedError, match=r"'a/b' could not be looked up .* longer than 5"):
        await session.check([PathCheck(1, "a/b")])
    await session.close()


async def test_more_file_content_than_was_asked_for_is_a_protocol_error():
    out = frame({"t": "out", "c": 1, "s": 1, "at": 0}, bytes(100))
    session = await lying(out)
    with pytest.raises(ProtocolError, match="more than it may"):
        await session.read_file("x", limit=10)
    await session.close()


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.binary(max_size=300), cut=st.integers(1, 64))
def test_no_bytes_crash_the_reader(data, cut):
    pieces = [data[index : index + cut] for index in range(0, len(data), cut)]

    class Bytes:
        async def read(self, count):
            return pieces.pop(0) if pieces else b""

    async def read_all():
        return [head async for head, _ in read_frames(Bytes())]

    try:
        heads = asyncio.run(read_all())
    except ProtocolError:
        return
    assert all(head["t"] for head in heads)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(value=VALUES)
def test_the_boxs_json_is_what_json_reads(value):
    assert json.loads(frames.json_text(value)) == value


@given(name=st.binary())
def test_names_of_any_bytes_survive(name):
    assert json.loads(frames.json_text(name)).encode("utf-8", "surrogateescape") == name


@given(value=VALUES)
def test_a_head_is_a_known_frame_or_refused(value):
    try:
        head = parse_head(json.dumps(value).encode())
    except ProtocolError:
        return
    assert head["t"] in ("hello", "fail", "out", "credit", "stop", "done", "pong", "leave")


@pytest.mark.parametrize("around", [b" %s", b"%s ", b"%s{}", b"%s\n"])
def test_a_head_with_anything_around_its_object_is_refused(around):
    with pytest.raises(ProtocolError):
        parse_head(around % b'{"t":"pong","n":1}')
