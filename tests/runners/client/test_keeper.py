"""Head and tail of a stream, for every way it can be cut into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runners import Capture
from runners.client.keeper import Keeper

PIECES = st.lists(st.binary(max_size=20), max_size=20)


@given(pieces=PIECES, keep=st.integers(1, 30))
def test_what_is_kept_does_not_depend_on_the_pieces(pieces, keep):
    whole = b"".join(pieces)
    keeper = Keeper(keep)
    for piece in pieces:
        keeper.add(keeper.position, piece)
    rest = whole[keep:]
    assert keeper.capture(len(whole)) == Capture(whole[:keep], rest[-keep:], len(whole))


@given(pieces=PIECES, keep=st.integers(1, 30), gap=st.integers(1, 50), last=st.binary(max_size=30))
def test_after_a_gap_the_tail_is_what_came_last(pieces, keep, gap, last):
    keeper = Keeper(keep)
    for piece in pieces:
        keeper.add(keeper.position, piece)
    start = keeper.position + gap
    keeper.add(start, last)
    found = keeper.capture(start + len(last))
    assert found.head == b"".join(pieces)[:keep]
    assert found.tail == last[-keep:]
    assert found.total == start + len(last)


def test_bytes_that_never_came_are_missing_and_the_tail_does_not_pretend():
    keeper = Keeper(2)
    keeper.add(0, b"abcdef")
    assert keeper.capture(10) == Capture(b"ab", b"", 10)
