"""Judging: one argv against the shelves of a policy, inner commands included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from policies.matching.fault import Miss
from policies.matching.walk import Span, Walk
from policies.rule import Ban, Entry, Gate
from policies.verdict import Decision, PathCheck

if TYPE_CHECKING:
    from policies.shelf import Shelf

__all__ = ["NO_GATE", "Finding", "Hit", "Judging", "is_plain", "keep_strictest", "word_fault"]

MOST_WORDS = 4096
LONGEST_WORD = 32768
DEEPEST = 4
NO_GATE = Gate()


class Hit:
    """A line that holds."""

    __slots__ = ("checks", "decision", "entry", "inner")

    def __init__(
        self,
        entry: Entry,
        decision: Decision,
        checks: list[PathCheck],
        inner: tuple[Finding, ...],
    ) -> None:
        self.entry = entry
        self.decision = decision
        self.checks = checks
        self.inner = inner


class Finding:
    """What the rules say of one command.

    Attributes:
        decision: the strictest of the lines that hold; deny when none does.
        hits: the lines of the winning decision.
        miss: why it is denied.
        nearest: the line that came nearest, for a denial by silence.
        ban: the deny line that holds.
        start: index of the program word.
        via: findings of inner commands that denied it, nearest first.
    """

    __slots__ = ("ban", "decision", "hits", "miss", "nearest", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.decision = Decision.DENY
        self.hits: list[Hit] = []
        self.miss: Miss | None = None
        self.nearest: Entry | None = None
        self.ban: Ban | None = None


class Judging:
    """One judgement: the memo of inner commands and their depth."""

    __slots__ = ("banned", "depth", "fence", "gate", "memo", "shelves")

    def __init__(
        self,
        shelves: dict[str, Shelf],
        gate: Gate = NO_GATE,
        fence: dict[str, Shelf] | None = None,
    ) -> None:
        self.shelves = shelves
        self.fence = fence
        self.gate = gate
        self.memo: dict[tuple[object, ...], Finding] = {}
        self.depth = 0
        self.banned: Finding | None = None

    def judge(self, span: Span, shelf: Shelf) -> Finding:
        """Judge a command whose program is known."""
        finding = Finding(span.start)
        for ban in shelf.bans:
            if ban.line.holds(span):
                return self.forbid(finding, ban)
        hits: list[Hit] = []
        idle: list[Entry] = []
        candidates = shelf.candidates(span.words, span.start, span.end)
        words = span.words[span.start + 1 : span.end]
        for entry in candidates:
            if entry.line.demands and not meets(entry.line.demands, words):
                idle.append(entry)
            else:
                self.walk(entry, span, finding, hits)
        if len(idle) == len(candidates):
            for entry in idle:
                self.walk(entry, span, finding, hits)
        if self.banned is not None:
            finding.miss = Miss("denied", self.banned.start)
            finding.ban = self.banned.ban
            return finding
        if hits and self.fence and not self.inside(self.fence, span, finding):
            return finding
        if hits:
            keep_strictest(finding, hits)
        elif finding.miss is None:
            finding.miss = Miss("no-subcommand", self.subcommand(span), tuple(shelf.pinned))
        return finding

    def inside(self, fence: dict[str, Shelf], span: Span, finding: Finding) -> bool:
        """Whether a project file's ``only`` lines accept the command too."""
        word = span.words[span.start]
        shelf = fence.get(word) or fence.get(word.rpartition("/")[2])
        if shelf is None and word.startswith("./"):
            shelf = fence.get("./")
        if shelf is None:
            return True
        finding.miss, finding.nearest = Miss("no-subcommand", self.subcommand(span)), None
        found: list[Hit] = []
        for entry in shelf.candidates(span.words, span.start, span.end):
            self.walk(entry, span, finding, found)
        return bool(found)

    def walk(self, entry: Entry, span: Span, finding: Finding, hits: list[Hit]) -> None:
        """Try one line; note it as a hit or as a miss, the furthest miss first."""
        walk = Walk(entry.line, span, self.inner)
        miss = walk.run()
        if miss is None and (entry.rule.gated or self.gate is not NO_GATE):
            miss = self.closed(entry, span)
        if miss is None:
            hits.append(self.hit(entry, walk))
        elif finding.miss is None or miss.word > finding.miss.word:
            finding.miss = miss
            finding.nearest = entry

    def forbid(self, finding: Finding, ban: Ban) -> Finding:
        """A deny line holds; of an inner command it denies the whole."""
        finding.ban = ban
        finding.miss = Miss("denied", finding.start)
        if self.depth:
            self.banned = finding
        return finding

    def subcommand(self, span: Span) -> int:
        """The word that should have been a sub-command."""
        for index in range(span.start + 1, span.end):
            if span.words[index][:1] != "-":
                return index
        return span.start

    def hit(self, entry: Entry, walk: Walk) -> Hit:
        """The strictest of the line and the commands inside."""
        decision = entry.decision
        if not walk.spans:
            return Hit(entry, decision, walk.checks, ())
        inner = tuple(self.memo[key_of(span)] for span in walk.spans)
        for finding in inner:
            decision = max(decision, finding.decision)
        return Hit(entry, decision, walk.checks, inner)

    def inner(self, span: Span) -> Miss | None:
        """Judge a command inside a command."""
        if self.depth >= DEEPEST:
            return Miss("inner-depth", span.start)
        key = key_of(span)
        finding = self.memo.get(key)
        if finding is None:
            program = span.words[span.start]
            shelf = self.shelves.get(program)
            if "/" in program:
                shelf = self.shelves.get("./") if program.startswith("./") else None
                if shelf is None:
                    return Miss("program-path", span.start)
            if shelf is None:
                unseen = program.startswith("\0")
                return Miss("unseen-words" if unseen else "no-program", span.start)
            self.depth += 1
            finding = self.judge(span, shelf)
            self.depth -= 1
            self.memo[key] = finding
        return finding.miss

    def closed(self, entry: Entry, span: Span) -> Miss | None:
        """Whether the rule's fields refuse what its line accepts."""
        rule = entry.rule
        if span.end - span.start > rule.max_words:
            return Miss("too-many-words", rule.max_words)
        if rule.cwd and not starts_below(span.place.parts, rule.cwd):
            return Miss("cwd-denied", span.start, rule.cwd)
        if self.depth:
            return None
        gate = self.gate
        allowed = dict(rule.env)
        for name, value in gate.env:
            kind = allowed.get(name)
            if kind is None or (value and kind.check(value, span.place) is not None):
                return Miss("env-denied", 0, tuple(allowed))
        if gate.fed and not rule.stdin:
            return Miss("redirect-denied", 0)
        if rule.redirect is not None and not gate.redirects <= rule.redirect:
            return Miss("redirect-denied", 0, tuple(sorted(rule.redirect)))
        return None


def keep_strictest(finding: Finding, hits: list[Hit]) -> None:
    """Keep the hits of the strictest decision; what the other lines missed is forgotten."""
    decision = hits[0].decision
    if len(hits) > 1:
        decision = max(hit.decision for hit in hits)
        hits = [hit for hit in hits if hit.decision is decision]
    finding.decision = decision
    finding.hits = hits
    finding.miss = finding.nearest = None


def meets(demands: tuple[tuple[str, ...], ...], words: Sequence[str]) -> bool:
    """Whether for each demand some word begins as it says."""
    for beginnings in demands:
        for word in words:
            if word.startswith(beginnings):
                break
        else:
            return False
    return True


def key_of(span: Span) -> tuple[object, ...]:
    """Inner commands that are the same words are judged once."""
    if span.blind:
        words = tuple(span.words[span.start : span.end])
        return (span.start, span.end, span.tail, words, span.below)
    return (span.start, span.end, span.tail)


def starts_below(parts: tuple[str, ...], folders: tuple[str, ...]) -> bool:
    """Whether a folder is one of these or below one of them; ``*`` is any one component."""
    for folder in folders:
        wanted = [part for part in folder.split("/") if part not in ("", ".")]
        if len(parts) >= len(wanted) and all(
            want in ("*", part) for want, part in zip(wanted, parts, strict=False)
        ):
            return True
    return False


def is_plain(text: str, words: int) -> bool:
    """Whether words, here joined by NUL, need no closer look: then none of them has a fault."""
    return (
        len(text) <= LONGEST_WORD
        and text.isascii()
        and words <= MOST_WORDS
        and text.count("\0") == words - 1
    )


def word_fault(argv: tuple[str, ...]) -> Miss | None:
    """What is refused before any rule is looked at."""
    if not argv:
        return Miss("empty-argv", 0)
    if len(argv) > MOST_WORDS:
        return Miss("too-many-words", MOST_WORDS)
    if is_plain("\0".join(argv), len(argv)):
        return None
    for reason, bad in (("too-long", is_long), ("nul", has_nul), ("not-text", is_not_text)):
        for index, word in enumerate(argv):
            if bad(word):
                return Miss(reason, index)
    return None


def is_long(word: str) -> bool:
    return len(word) > LONGEST_WORD


def has_nul(word: str) -> bool:
    return "\0" in word


def is_not_text(word: str) -> bool:
    return not word.isascii() and any("\ud800" <= c <= "\udfff" for c in word)
