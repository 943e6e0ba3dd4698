"""explain: why a command is decided as it is, the nearest miss, and the smallest edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from policies.authoring.edit import Edit, edits_for
from policies.command import Command
from policies.judging import Finding, Judging
from policies.loading.loader import Loaded
from policies.matching.fault import Miss
from policies.matching.walk import Span, Walk
from policies.messages import shortened
from policies.rule import Entry
from policies.values.value import Place
from policies.verdict import Decision, Verdict

__all__ = ["Edit", "Explanation", "Nearest", "explain_command"]

MOST_NEAREST = 3


@dataclass(frozen=True, slots=True)
class Nearest:
    """A line that came near.

    Attributes:
        rule: its rule.
        file: where it stands.
        line: line of the file.
        column: column of the file.
        text: the synopsis.
        word: index of the word at which the command leaves it.
        reason: why.
        expected: what it would have taken there.
        matched: how many words it took.
    """

    rule: str
    file: str
    line: int
    column: int
    text: str
    word: int
    reason: str
    expected: tuple[str, ...]
    matched: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is to be said of one command.

    Attributes:
        verdict: the decision.
        argv: the command.
        got: the word at fault, or None.
        via: the wrapper lines around an inner command.
        nearest: the lines that came nearest, the nearest first.
        edits: the smallest changes of the policy that would allow it.
        policy: digest of the policy.
    """

    verdict: Verdict
    argv: tuple[str, ...]
    got: str | None
    via: tuple[str, ...] = ()
    nearest: tuple[Nearest, ...] = ()
    edits: tuple[Edit, ...] = field(default=())
    policy: str = ""

    def text(self) -> str:
        """The explanation for people."""
        verdict = self.verdict
        parts = [f"{verdict.decision.label}: {' '.join(self.argv)}".replace("\n", "\\n")]
        if verdict.reason == "ok":
            conditions = verdict.conditions
            code = ", runs code" if verdict.runs_code else ""
            parts.append(f"  rule {verdict.rule}: {shortened(verdict.line or '')}")
            parts.append(f"  in a box of level {conditions.isolation.label} or above{code}")
            return "\n".join(parts)
        parts.append(f"  {verdict.reason}: {verdict.message}")
        parts += [f"  inside of {shortened(line)}" for line in self.via]
        for near in self.nearest:
            place = f"{near.file}:{near.line}:{near.column}"
            parts.append(f"  nearest: {place} (rule {near.rule}): {shortened(near.text)}")
            parts.append(f"    leaves it at word {near.word} ({near.reason})")
        parts += [edit.words() for edit in self.edits]
        if not self.edits:
            parts.append("  no edit is offered: write another command")
        return "\n".join(parts)

    def document(self) -> dict[str, object]:
        """The explanation as JSON, schema 1."""
        verdict = self.verdict
        conditions = verdict.conditions
        return {
            "schema": 1,
            "argv": list(self.argv),
            "decision": verdict.decision.label,
            "reason": verdict.reason,
            "message": verdict.message,
            "rule": verdict.rule,
            "stage": verdict.stage,
            "word": verdict.word,
            "got": self.got,
            "via": list(self.via),
            "program": {
                "name": verdict.program,
                "search": list(verdict.search),
                "paths": list(verdict.paths),
                "sha256": verdict.sha256,
                "pinned": bool(verdict.sha256),
            },
            "policy": self.policy,
            "conditions": {
                "isolation": conditions.isolation.label,
                "runs_code": verdict.runs_code,
                "network": list(conditions.network),
                "limits": {"wall_seconds": conditions.limits.wall_seconds},
            },
            "nearest": [
                {name: getattr(near, name) for name in Nearest.__slots__} for near in self.nearest
            ],
            "edits": [edit.document() for edit in self.edits],
        }


def explain_command(
    loaded: Loaded,
    command: Command,
    *,
    root: str = "/workspace",
    corpus: Sequence[tuple[str, ...]] = (),
) -> Explanation:
    """Explain the verdict on a command.

    Args:
        loaded: the policy with the places of its lines (``compile_layers(..., trust=False)``).
        command: the command.
        root: absolute path of the workspace in the box.
        corpus: recorded commands; each edit says how many of them it would newly allow.
    """
    policy = loaded.policy
    argv = tuple(command.argv)
    verdict = policy.judge(command, root=root)
    if verdict.decision is not Decision.DENY:
        return Explanation(verdict, argv, None, policy=policy.digest)
    got = argv[verdict.word] if 0 <= verdict.word < len(argv) else None
    search = Search(loaded, argv, policy.place(root, command.cwd))
    edits = edits_for(loaded, argv, search.place, search.inner, search.misses, corpus)
    near = tuple(search.near(entry, miss) for entry, miss in search.misses[:MOST_NEAREST])
    return Explanation(verdict, argv, got, search.via, near, edits, policy.digest)


class Search:
    """Walks the candidate lines of the innermost command that is at fault."""

    def __init__(self, loaded: Loaded, argv: tuple[str, ...], place: Place) -> None:
        self.loaded = loaded
        self.argv = argv
        self.place = place
        self.via: tuple[str, ...] = ()
        self.misses: list[tuple[Entry, Miss]] = []
        self.inner: Span | None = None
        shelf = loaded.policy.shelves.get(argv[0]) if argv else None
        if shelf is None:
            return
        span: Span = Span(argv, 0, len(argv), place)
        judging = Judging(loaded.policy.shelves)
        finding = judging.judge(span, shelf)
        span = self.descend(judging, finding, span)
        self.inner = span
        self.walk(judging, span)

    def descend(self, judging: Judging, finding: Finding, span: Span) -> Span:
        """The innermost command whose miss is the miss of the whole."""
        while True:
            inside = [
                (key, other)
                for key, other in judging.memo.items()
                if other.miss is not None and other.miss is finding.miss and other is not finding
                if other.start > span.start
            ]
            if not inside or finding.nearest is None:
                return span
            self.via = (*self.via, finding.nearest.line.text)
            key, finding = min(inside, key=lambda pair: pair[1].start)
            start, end, tail = int(str(key[0])), int(str(key[1])), bool(key[2])
            span = Span(span.words, start, end, self.place, blind=span.blind, tail=tail)

    def walk(self, judging: Judging, span: Span) -> None:
        shelf = self.loaded.policy.shelves.get(span.words[span.start])
        if shelf is None:
            return
        for entry in shelf.candidates(span.words, span.start, span.end):
            miss = Walk(entry.line, span, judging.inner).run()
            if miss is not None:
                self.misses.append((entry, miss))
        self.misses.sort(key=lambda pair: (-pair[1].word, pair[0].number))

    def near(self, entry: Entry, miss: Miss) -> Nearest:
        layer, path = self.loaded.builder.places[entry.number]
        fault = layer.document.diagnostic(path, "")
        matched = max(miss.word - (self.inner.start if self.inner else 0), 0)
        return Nearest(
            entry.rule.name,
            layer.origin,
            fault.line,
            fault.column,
            entry.line.text,
            miss.word,
            miss.reason,
            miss.expected,
            matched,
        )
