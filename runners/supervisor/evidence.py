"""Counters of the box's cgroup that tell who killed a program."""

import posix as os

__all__ = ["Counters"]


class Counters:
    """Open counter files by limit; only what really moved is ever claimed."""

    def __init__(self, candidates: "dict[str, list[str]]") -> None:
        self.files: dict[str, int] = {}
        self.texts: dict[str, bytes] = {}
        self.counts: dict[str, int] = {}
        for limit, names in candidates.items():
            for name in names:
                try:
                    self.files[limit] = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
                except OSError:
                    continue
                break

    def read(self) -> "dict[str, int]":
        """The counters now."""
        for limit, fd in self.files.items():
            try:
                text = os.pread(fd, 4096, 0)
            except OSError:
                text = b""
            if text != self.texts.get(limit):
                self.texts[limit] = text
                self.counts = {**self.counts, limit: _count(text, limit)}
        return self.counts


def _count(text: bytes, limit: str) -> int:
    word = b"oom_kill" if limit == "memory_mib" else b"max"
    for line in text.splitlines():
        name, _, value = line.partition(b" ")
        if name == word:
            return int(value)
    return 0
