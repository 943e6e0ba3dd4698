"""What an engine sends is put back together, however it was cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.docker.attach import KEPT_STDERR_BYTES, Demultiplexer
from runners.errors import ProtocolError

messages = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=300)), max_size=12)


def wire(pieces: list[tuple[int, bytes]]) -> bytes:
    return b"".join(
        bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data for stream, data in pieces
    )


def drain(parts: Demultiplexer, limit: int = 1 << 20) -> bytes:
    return b"".join(iter(lambda: parts.take(limit), b""))


@given(messages, st.lists(st.integers(1, 40), min_size=1), st.integers(1, 64))
def test_output_is_the_same_however_it_was_cut(pieces, cuts, limit):
    data, parts, output = wire(pieces), Demultiplexer(), b""
    while data:
        for size in cuts:
            parts.feed(data[:size])
            data = data[size:]
            output += drain(parts, limit)
    assert output == b"".join(data for stream, data in pieces if stream == 1)
    assert (
        parts.stderr
        == b"".join(data for stream, data in pieces if stream == 2)[-KEPT_STDERR_BYTES:]
    )


def test_of_standard_error_only_the_end_is_kept():
    parts = Demultiplexer()
    parts.feed(wire([(2, b"a" * 10_000), (2, b"end")]))
    assert (len(parts.stderr), parts.stderr[-4:]) == (KEPT_STDERR_BYTES, b"aend")


@pytest.mark.parametrize(
    "head", [b"\x00" * 8, b"\x03" + bytes(7), b"\x01\x01" + bytes(6), b"HTTP/1.1"]
)
def test_a_damaged_head_is_an_error_of_the_protocol(head):
    with pytest.raises(ProtocolError, match="damaged stream head"):
        Demultiplexer().feed(head)
