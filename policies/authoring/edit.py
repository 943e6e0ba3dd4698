"""Edits: the smallest change of a line that would allow a command, and what else it allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policies.authoring.change import Change, change_of
from policies.authoring.guess import line_for
from policies.authoring.hazard import errors_of, hazard_of
from policies.judging import Judging
from policies.loading.loader import Loaded
from policies.matching.fault import Miss
from policies.matching.line import CompiledLine
from policies.matching.walk import Span, Walk
from policies.policy import Policy
from policies.rule import Entry
from policies.synopsis import SynopsisError, parse_synopsis
from policies.synopsis.tree import Item, Line, Style
from policies.values.value import Place
from policies.verdict import Decision

__all__ = ["Edit", "edits_for"]

NO_EDIT = frozenset(
    (
        "path-escape",
        "path-protected",
        "env-denied",
        "program-path",
        "denied",
        "inner-depth",
        "unseen-words",
        "cwd-denied",
        "redirect-denied",
        "nul",
        "not-text",
    )
)
"""Reasons whose answer is another command, not another policy."""

MOST_STEPS = 3
MOST_EXAMPLES = 4
PROBES = ("../x", "/etc/passwd", "-x", "--output=x", "a:b", "a=b", "@x", "http://x", "a b", "1")


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the policy.

    Attributes:
        kind: what is done.
        file: the file to change, "" for a new line.
        line: line of the file.
        column: column of the file.
        before: the text that is replaced, or "".
        after: the text that takes its place.
        text: the whole new line.
        size: how many such changes are needed together.
        allows: commands that would be allowed beside this one.
        summary: the same in words.
        newly: how many commands of the corpus would newly be allowed, or None without a corpus.
    """

    kind: str
    file: str
    line: int
    column: int
    before: str
    after: str
    text: str
    size: int = 1
    allows: tuple[tuple[str, ...], ...] = ()
    summary: str = ""
    newly: int | None = None

    def words(self) -> str:
        """The edit for people."""
        if not self.before and not self.file:
            return f"  edit: add a line: {self.text}"
        place = f"{self.file}:{self.line}:{self.column}"
        change = f"{self.before} -> {self.after}" if self.before else f"add {self.after.strip()}"
        also = "; ".join(" ".join(argv) for argv in self.allows)
        return f"  edit: {place}: {change}" + (f"\n    also allows: {also}" if also else "")

    def document(self) -> dict[str, object]:
        """The edit as JSON."""
        return {
            "kind": self.kind,
            "file": self.file,
            "at": {"line": self.line, "column": self.column},
            "from": self.before,
            "to": self.after,
            "text": self.text,
            "size": self.size,
            "lint": [],
            "also_allows": {
                "summary": self.summary,
                "examples": [list(argv) for argv in self.allows],
                "newly_allowed_in_corpus": self.newly,
            },
        }


def edits_for(
    loaded: Loaded,
    argv: tuple[str, ...],
    place: Place,
    span: Span | None,
    misses: Sequence[tuple[Entry, Miss]],
    corpus: Sequence[tuple[str, ...]],
) -> tuple[Edit, ...]:
    """The edits that would allow a denied command, the smallest first."""
    if any(miss.reason in NO_EDIT for _, miss in misses[:1]) or not argv:
        return ()
    if span is None or not misses:
        return new_line(loaded, argv if span is None else tuple(span.words[span.start : span.end]))
    found: list[Edit] = []
    for entry, miss in misses[:3]:
        edit = Editor(loaded, entry, span, place).edit(miss, corpus)
        if edit is not None:
            found.append(edit)
    return tuple(sorted(found, key=lambda edit: edit.size))


def new_line(loaded: Loaded, argv: tuple[str, ...]) -> tuple[Edit, ...]:
    """A line of its own for a command that no line begins like."""
    if "/" in argv[0]:
        return ()
    hazard = hazard_of(argv[0])
    dangerous = hazard.fetches or hazard.wrapper or hazard.interpreter or hazard.script
    known = argv[0] in loaded.policy.shelves
    if dangerous or (hazard.runs_project and not known):
        return ()
    text = line_for(argv)
    if text is None:
        return ()
    style = loaded.builder.styles.get(argv[0], "gnu")
    try:
        line = parse_synopsis(text, loaded.builder.catalogue, style)
    except SynopsisError:  # no line can name such a program
        return ()
    if line.program != argv[0] or errors_of(line, runs_code=False):
        return ()
    return (
        Edit(
            "new-line" if known else "new-rule",
            "",
            0,
            0,
            "",
            text,
            text,
            summary=f"every command of the form {text}",
        ),
    )


class Editor:
    """Changes one line step by step until the command is accepted."""

    def __init__(self, loaded: Loaded, entry: Entry, span: Span, place: Place) -> None:
        self.loaded = loaded
        self.entry = entry
        self.span = span
        self.place = place
        self.catalogue = loaded.builder.catalogue
        self.style: Style = "words" if entry.line.words else entry.line.line.style

    def edit(self, miss: Miss, corpus: Sequence[tuple[str, ...]]) -> Edit | None:
        """The edit that makes the line accept the command, or None."""
        text = self.entry.line.line.text
        if text != self.entry.line.text or self.entry.line.line.text == "":
            text = self.entry.line.text
        first: Change | None = None
        for size in range(1, MOST_STEPS + 1):
            change = change_of(text, miss, self.span, self.catalogue_names())
            if change is None:
                return None
            first = first or change
            text = change.applied(text)
            line = self.compiled(text)
            if line is None or self.new_errors(line):
                return None
            after = Walk(line, self.span, Judging(self.loaded.policy.shelves).inner).run()
            if after is None:
                return self.finished(first, text, size, line, corpus)
            if after.word < miss.word or after.reason in NO_EDIT:
                return None
            miss = after
        return None

    def new_errors(self, line: CompiledLine) -> bool:
        """Whether the change raises a lint error that the line did not have."""
        runs_code = self.entry.rule.runs_code
        old = {error[:2] for error in errors_of(self.entry.line.line, runs_code=runs_code)}
        return any(e[:2] not in old for e in errors_of(line.line, runs_code=runs_code))

    def catalogue_names(self) -> frozenset[str]:
        return frozenset(self.catalogue)

    def compiled(self, text: str) -> CompiledLine | None:
        """The changed line with the rule's global options, if it is one."""
        try:
            line = parse_synopsis(text, self.catalogue, self.style)
            prefix = self.prefix()
            whole = Line(line.program, (*prefix, *line.items), line.style, text, line.file)
            return CompiledLine(whole, self.catalogue)
        except SynopsisError:
            return None

    def prefix(self) -> tuple[Item, ...]:
        """The global options that were spliced into the compiled line."""
        whole = self.entry.line.line
        own = parse_synopsis(whole.text, self.catalogue, self.style)
        return whole.items[: len(whole.items) - len(own.items)]

    def finished(
        self,
        change: Change,
        text: str,
        size: int,
        line: CompiledLine,
        corpus: Sequence[tuple[str, ...]],
    ) -> Edit:
        layer, path = self.loaded.builder.places[self.entry.number]
        fault = layer.document.diagnostic(path, "", column=change.column)
        policy = self.changed_policy(line)
        allows = self.witnesses(policy)
        newly = None
        if corpus:
            newly = sum(self.is_new(policy, argv) for argv in corpus)
        return Edit(
            change.kind,
            layer.origin,
            fault.line,
            fault.column,
            change.before,
            change.after,
            text,
            size,
            allows,
            f"{change.after.strip()} with every other part of the line",
            newly,
        )

    def changed_policy(self, line: CompiledLine) -> Policy:
        """The policy with the line replaced."""
        old = self.loaded.policy
        entry = Entry(self.entry.rule, self.entry.decision, line, self.entry.number)
        entries = [entry if one.number == entry.number else one for one in old.entries]
        return Policy(
            name=old.name,
            entries=entries,
            bans=old.bans,
            programs=old.programs,
            conditions=old.conditions,
        )

    def is_new(self, policy: Policy, argv: tuple[str, ...]) -> bool:
        """Whether the change, and only the change, allows a command."""
        if policy.find(argv, self.place).decision is Decision.DENY:
            return False
        return self.loaded.policy.find(argv, self.place).decision is Decision.DENY

    def witnesses(self, policy: Policy) -> tuple[tuple[str, ...], ...]:
        """Commands beside this one that the change allows: other words in the place of each."""
        argv = tuple(self.span.words)
        found: list[tuple[str, ...]] = []
        for index in range(self.span.start + 1, self.span.end):
            for probe in PROBES:
                other = (*argv[:index], probe, *argv[index + 1 :])
                if other != argv and self.is_new(policy, other):
                    found.append(other)
                    break
        for flag in self.entry.line.options.exact:
            at = self.span.start + 1 + len(self.entry.line.pinned)
            other = (*argv[:at], flag, *argv[at:])
            if len(found) < MOST_EXAMPLES and self.is_new(policy, other):
                found.append(other)
        return tuple(dict.fromkeys(found))[:MOST_EXAMPLES]
