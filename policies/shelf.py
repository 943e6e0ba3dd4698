"""Shelf: all lines of one program, found by the first pinned word."""

from __future__ import annotations

from collections.abc import Sequence

from policies.rule import Ban, Entry, Waiting

__all__ = ["Shelf"]


class Shelf:
    """The lines of one program.

    Attributes:
        pinned: lines by each word that their first pinned part can be.
        free: lines without a pinned word.
        bans: deny lines.
        waiting: lines that no command has needed yet.
    """

    __slots__ = ("bans", "free", "pinned", "waiting")

    def __init__(self) -> None:
        self.waiting: list[Waiting] = []
        self.pinned: dict[str, list[Entry]] = {}
        self.free: list[Entry] = []
        self.bans: list[Ban] = []

    def add(self, entry: Entry) -> None:
        """Put an allow or ask line on the shelf."""
        heads = entry.line.heads
        if not heads:
            self.free.append(entry)
        for head in sorted(heads):
            self.pinned.setdefault(head, []).append(entry)

    def fill(self) -> None:
        """Compile the lines that wait."""
        waiting, self.waiting = self.waiting, []
        for compiled in waiting:
            self.add(compiled.now())

    def candidates(self, words: Sequence[str], start: int, end: int) -> list[Entry]:
        """The lines that could hold for the words after ``start``, in file order."""
        if self.waiting:
            self.fill()
        pinned = self.pinned
        if not pinned:
            return self.free
        found: list[Entry] | None = None
        several = False
        for index in range(start + 1, end):
            entries = pinned.get(words[index])
            if entries is None:
                continue
            if found is None:
                found = entries
            elif entries is not found:
                found = found + entries
                several = True
        if found is None:
            return self.free
        if self.free:
            found = self.free + found
            several = True
        if several:
            unique = {entry.number: entry for entry in found}
            found = [unique[number] for number in sorted(unique)]
        return found
