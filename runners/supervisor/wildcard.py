"""Wildcards: path patterns with ``**``, and single names, in bounded time."""

import os

from runners.supervisor.fault import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    States = frozenset[int]

__all__ = ["Glob", "matcher"]


class Glob:
    """A path pattern read part by part, so that a walk can leave out what cannot match."""

    def __init__(self, pattern: bytes) -> None:
        parts = [part for part in pattern.split(b"/") if part not in (b"", b".")]
        if b".." in parts or pattern.startswith(b"/"):
            raise Refusal("path-escape", b"", "a pattern stays below its folder")
        if parts and parts[-1] == b"**":  # what is below, not the folder itself
            parts.append(b"*")
        self.parts = parts
        self.tests = [None if part == b"**" else matcher(part) for part in parts]
        self.start = self.close(0)

    def close(self, *positions: int) -> "States":
        """These positions and those that a ``**`` may be skipped to."""
        reached = set()
        for position in positions:
            at = position
            reached.add(at)
            while at < len(self.parts) and self.tests[at] is None:
                at += 1
                reached.add(at)
        return frozenset(reached)

    def step(self, states: "States", name: bytes) -> "States":
        """Where the pattern stands after one more name."""
        text = os.fsdecode(name)
        following = []
        for position in states:
            if position == len(self.parts):
                continue
            test = self.tests[position]
            if test is None:
                following.append(position)
            elif test(text):
                following.append(position + 1)
        return self.close(*following)

    def matches(self, path: bytes) -> bool:
        """Whether a relative path matches as a whole."""
        return self.accepts(self.walked(path))

    def may_match_below(self, folder: bytes) -> bool:
        """Whether a path below a folder could match."""
        return any(position < len(self.parts) for position in self.walked(folder))

    def walked(self, path: bytes) -> "States":
        """Where the pattern stands after a relative path."""
        states = self.start
        for name in path.split(b"/"):
            if not states:
                break
            states = self.step(states, name)
        return states

    def accepts(self, states: "States") -> bool:
        """Whether the whole pattern is used up."""
        return len(self.parts) in states


def matcher(part: bytes) -> "Callable[[str], bool]":
    """Whether a name matches one part of a glob, in time of at most name times pattern."""
    text = os.fsdecode(part)
    if not any(sign in text for sign in "*?[\\"):
        return text.__eq__
    tokens = tokens_of(text)
    return lambda name: wild(tokens, name)


def tokens_of(text: str) -> "list[tuple[str, str]]":
    """A glob part as literals, any-one, any-run and sets."""
    tokens = []  # type: list[tuple[str, str]]
    at = 0
    while at < len(text):
        sign = text[at]
        at += 1
        if sign == "*":
            if not tokens or tokens[-1][0] != "*":
                tokens.append(("*", ""))
        elif sign == "\\" and at < len(text):
            tokens.append(("=", text[at]))
            at += 1
        elif sign == "?":
            tokens.append(("?", ""))
        elif sign == "[":
            end = text.find("]", at + (2 if text[at : at + 1] in ("!", "^") else 1))
            if end < 0:
                tokens.append(("=", "["))
                continue
            inside = text[at:end]
            negated = inside[:1] in ("!", "^")
            tokens.append(("!" if negated else "[", inside[1:] if negated else inside))
            at = end + 1
        else:
            tokens.append(("=", sign))
    return tokens


def wild(tokens: "list[tuple[str, str]]", name: str) -> bool:
    """The usual two-pointer match: only the last star is ever tried again."""
    at = token = 0
    star = mark = -1
    while at < len(name):
        if token < len(tokens) and tokens[token][0] == "*":
            star, mark = token, at
            token += 1
        elif token < len(tokens) and one(tokens[token], name[at]):
            at += 1
            token += 1
        elif star >= 0:
            mark += 1
            at, token = mark, star + 1
        else:
            return False
    while token < len(tokens) and tokens[token][0] == "*":
        token += 1
    return token == len(tokens)


def one(token: "tuple[str, str]", sign: str) -> bool:
    """Whether one character is what a token stands for."""
    kind, text = token
    if kind == "=":
        return text == sign
    if kind == "?":
        return True
    return kind != "*" and (kind == "[") == in_set(text, sign)


def in_set(text: str, sign: str) -> bool:
    """Whether a character is in the inside of ``[...]``: single ones and ranges."""
    at = 0
    while at < len(text):
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            if text[at] <= sign <= text[at + 2]:
                return True
            at += 3
        else:
            if text[at] == sign:
                return True
            at += 1
    return False
