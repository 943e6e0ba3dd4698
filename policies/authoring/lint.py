"""lint: what a policy that loads may still get wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from policies.authoring.hazard import errors_of, hazard_of, named_options, operand_types, options_of
from policies.authoring.witness import witnesses
from policies.limits import Isolation
from policies.loading.layer import RawRule
from policies.loading.loader import Loaded
from policies.matching.line import CompiledLine
from policies.matching.walk import Span, Walk
from policies.policy import Policy
from policies.rule import Entry
from policies.synopsis.tree import End, Group, Item, Option, OptionGroup, TypeRef
from policies.values.value import Place, ValueType
from policies.verdict import Decision

__all__ = ["LintFinding", "Severity", "lint_policy", "sarif"]

Severity = Literal["error", "warning", "note"]

SEVERITIES: dict[str, Severity] = {
    "L101": "warning", "L102": "warning", "L103": "note", "L104": "warning", "L105": "warning",
    "L106": "warning", "L107": "note", "L109": "note", "L110": "warning",
    "L201": "error", "L202": "error", "L203": "error", "L204": "error", "L205": "error",
    "L206": "warning", "L207": "error", "L208": "error", "L209": "error", "L210": "warning",
    "L211": "warning", "L212": "warning", "L213": "error", "L214": "warning", "L215": "warning",
    "L216": "error", "L301": "error", "L302": "warning", "L303": "warning", "L304": "warning",
    "L401": "warning", "L402": "note",
}  # fmt: skip

PROBES = (
    "../x", "/etc/passwd", "~", "@x", "+x", "a:b", "a=b", "-", "|x", "ext::x", "http://x", "a\nb",
    "a\u202eb",
)  # fmt: skip
HERE = Place("/workspace", ".")


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One finding.

    Attributes:
        code: L101 and so on.
        severity: error, warning or note.
        message: what is wrong, and what to write instead.
        file: where.
        line: line of the file.
        column: column of the file.
        rule: the rule, or "".
        waived: the author's reason for putting up with it, or "".
    """

    code: str
    severity: Severity
    message: str
    file: str
    line: int
    column: int
    rule: str = ""
    waived: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.code} {self.message}"


def lint_policy(loaded: Loaded, *, strict: bool = False) -> list[LintFinding]:
    """All findings about the files of a policy, in the order of the files.

    Args:
        loaded: a policy loaded with ``trust=False``.
        strict: also report identities that are not pinned.
    """
    found = list(Linter(loaded, strict=strict).findings())
    return sorted(set(found), key=lambda f: (f.file, f.line, f.column, f.code))


class Linter:
    """Looks at one policy."""

    def __init__(self, loaded: Loaded, *, strict: bool) -> None:
        self.loaded = loaded
        self.policy = loaded.policy
        self.builder = loaded.builder
        self.strict = strict

    def findings(self) -> Iterator[LintFinding]:
        """Every finding, in no order."""
        for raw in self.builder.kept:
            yield from self.rule(raw)
        for entry in self.policy.entries:
            yield from self.entry(entry)
        yield from self.covered()
        yield from self.top()

    def at(
        self, raw: RawRule, code: str, message: str, path: tuple[str | int, ...], column: int = -1
    ) -> LintFinding:
        """A finding at a place of a rule's file."""
        place = raw.layer.document.diagnostic(path, "", column=column if column >= 0 else None)
        waived = raw.fields.table("waive").text(code) if "waive" in raw.fields.data else ""
        return LintFinding(
            code, SEVERITIES[code], message, raw.layer.origin, place.line, place.column, raw.name,
            waived,
        )  # fmt: skip

    # -- rules

    def rule(self, raw: RawRule) -> Iterator[LintFinding]:
        data = raw.fields.data
        if data.get("runs_code"):
            level = data.get("isolation") or raw.layer.isolation
            if level is None or level in ("process", Isolation.PROCESS):
                yield self.at(raw, "L301", "runs_code needs an isolation level", raw.path)
        if not data.get("match") and not data.get("not_match"):
            yield self.at(raw, "L401", "the rule has no examples", raw.path)
        elif not data.get("not_match"):
            yield self.at(raw, "L402", "no not_match: nothing shows what stays denied", raw.path)
        for path, text in raw.lines("deny"):
            yield from self.deny(raw, path, text)

    def deny(self, raw: RawRule, path: tuple[str | int, ...], text: str) -> Iterator[LintFinding]:
        line = self.builder.line(raw, path, text, raw.fields.text("style") or None, "")
        if line is None:
            return
        optional = [i for i in line.items if isinstance(i, OptionGroup | Group) and is_optional(i)]
        for item in optional:
            yield self.at(
                raw, "L105", "optional parts of a deny line mean nothing", path, item.column
            )
        shelf = self.policy.shelves.get(line.program)
        if shelf is None or not (shelf.free or shelf.pinned or shelf.waiting):
            yield self.at(raw, "L104", f"silence already denies {line.program}", path)

    # -- lines

    def entry(self, entry: Entry) -> Iterator[LintFinding]:
        raw = self.builder.rules[entry.rule.name]
        _, path = self.builder.places[entry.number]
        line = entry.line.line
        runs_code = entry.rule.runs_code
        writing = {o.column for o in options_of(line) if o.values and self.writes(o)}
        for code, message, column in errors_of(line, runs_code=runs_code):
            if code != "L207" or column not in writing:
                yield self.at(raw, code, message, path, column)
        hazard = hazard_of(line.program)
        if hazard.runs_project and not runs_code and not informational(entry.line):
            yield self.at(raw, "L201", f"{line.program} runs code of the workspace", path)
        for option, names in named_options(line):
            if names & set(hazard.reads):
                text = f"{option.name} reads words or settings from a file"
                yield self.at(raw, "L206", text, path, option.column)
        for ref in operand_types(line):
            if ref.name == "ANY" and not runs_code:
                yield self.at(raw, "L212", "ANY checks nothing", path, ref.column)
            elif ref.name in self.builder.catalogue.declared or ref.name in ("RE", "LINE"):
                yield from self.outward(raw, path, entry, ref.name, ref.column)
        yield from self.outside_world(raw, path, entry)
        if hazard.style and line.style != hazard.style and has_options(line.items):
            yield self.at(
                raw, "L302", f"{line.program} reads its options in style {hazard.style}", path
            )
        yield from self.shape(raw, path, entry)

    def writes(self, option: Option) -> bool:
        """Whether every value is of a type that is writable, declared types included."""
        types = [value for value in option.values if isinstance(value, TypeRef)]
        resolved = [self.builder.catalogue.resolve(value) for value in types]
        return len(types) == len(option.values) and all(value.writable for value in resolved)

    def outside_world(
        self, raw: RawRule, path: tuple[str | int, ...], entry: Entry
    ) -> Iterator[LintFinding]:
        """What reaches other machines, or unpacks over the workspace."""
        line = entry.line.line
        hazard = hazard_of(line.program)
        types = {ref.name for ref in operand_types(line)}
        silent = not entry.rule.conditions.network
        if hazard.fetches and silent and types & {"URL", "HOST", "PKG"}:
            yield self.at(raw, "L214", f"{line.program} without network hosts", path)
        for option, known in named_options(line):
            if silent and known & set(hazard.reaches):
                text = f"{option.name} reaches the network, and the rule names no hosts"
                yield self.at(raw, "L214", text, path, option.column)
        sub = next(iter(entry.line.heads), "")
        if hazard.remote and silent and (not hazard.remote_in or sub in hazard.remote_in):
            for ref in operand_types(line):
                value = self.builder.catalogue.resolve(ref) if ref.name != "CMD" else None
                if value is not None and not value.anything and remote(value):
                    text = f"{value.text} admits host:path or a URL: write PATH or REMOTE"
                    yield self.at(raw, "L210", text, path, ref.column)
                    break
        names = {option.name for option in options_of(line)}
        unpacks = names & {"-x", "--extract", "--get"} or line.program in ("unzip", "7z", "cpio")
        aimed = names & {"-C", "--directory", "-d", "-o"} or names & {"-l", "-t", "--list"}
        if hazard.extracts and line.program != "patch" and unpacks and not aimed:
            yield self.at(raw, "L215", "unpacks over the workspace: write -C DIR:rw", path)

    def shape(
        self, raw: RawRule, path: tuple[str | int, ...], entry: Entry
    ) -> Iterator[LintFinding]:
        line = entry.line.line
        for item in line.items:
            if not isinstance(item, OptionGroup):
                continue
            for choice in item.choices:
                plain = [o for o in choice.options if o.shape == "plain"]
                counts = {len(option.values) for option in plain}
                aliases = {option.name.startswith("--") for option in plain} == {True, False}
                if aliases and len(plain) == len(choice.options) and counts == {0, 1}:
                    yield self.at(raw, "L106", "the short form has no value", path, plain[0].column)
            if item.bare and not item.choices[0].options[0].values and len(line.items) > 1:
                option = item.choices[0].options[0]
                if option.shape == "plain" and not follows_literal(line.items, item):
                    text = f"the order is fixed: write ({option.name}) for any place"
                    yield self.at(raw, "L107", text, path, option.column)
        repeated = any(ref.name in ("PATH", "FILE", "DIR") for ref in operand_types(line))
        if repeated and line.style == "gnu" and not has_end(line.items):
            yield self.at(
                raw, "L109", "without [--], names that begin with - are out of reach", path
            )

    def outward(
        self, raw: RawRule, path: tuple[str | int, ...], entry: Entry, name: str, column: int
    ) -> Iterator[LintFinding]:
        """An own type where files are opened, that admits a word which leaves the workspace."""
        hazard = hazard_of(entry.line.program)
        if not hazard.opens:
            return
        texts = 1 if hazard.shifts or hazard.script else 0
        typed = [place.value for place in entry.line.operands.places if place.value is not None]
        for value in typed[texts:]:
            if value.path or not value.text.startswith(name):
                continue
            for probe in PROBES:
                if value.check(probe, HERE) is None:
                    text = f"{value.text} admits {probe!r}: write PATH & RE"
                    yield self.at(raw, "L211", text, path, column)
                    return

    # -- lines against each other

    def covered(self) -> Iterator[LintFinding]:
        """Lines that another line makes idle, by their witnesses."""
        by_program: dict[str, list[Entry]] = {}
        for entry in self.policy.entries:
            by_program.setdefault(entry.line.program, []).append(entry)
        for entries in by_program.values():
            for entry in entries:
                samples = witnesses(entry.line)
                if not samples:
                    continue
                yield from self.against(entry, entries, samples)

    def against(
        self, entry: Entry, entries: list[Entry], samples: list[tuple[str, ...]]
    ) -> Iterator[LintFinding]:
        raw = self.builder.rules[entry.rule.name]
        _, path = self.builder.places[entry.number]
        bans = [b for b in self.policy.bans if b.line.program == entry.line.program]
        spans = [Span(argv, 0, len(argv), HERE) for argv in samples]
        for ban in bans:
            if all(ban.line.holds(span) for span in spans):
                yield self.at(raw, "L102", f"the deny line {ban.line.text!r} covers it", path)
        for other in entries:
            if other is entry or not all(accepts(other.line, span) for span in spans):
                continue
            back = witnesses(other.line)
            same = all(accepts(entry.line, Span(a, 0, len(a), HERE)) for a in back)
            if same and other.number > entry.number:
                continue
            if other.decision is Decision.ASK and entry.decision is Decision.ALLOW:
                yield self.at(raw, "L103", f"the ask line {other.line.text!r} covers it", path)
            elif other.decision is entry.decision:
                yield self.at(raw, "L101", f"{other.line.text!r} accepts all it accepts", path)
            return

    # -- the top

    def top(self) -> Iterator[LintFinding]:
        for layer in self.builder.layers:
            for name in layer.types:
                if name not in self.builder.catalogue.used:
                    yield self.outside(
                        layer.origin, ("types", name), "L110", f"{name} is never used"
                    )
            for index, name in enumerate(layer.protect_remove):
                text = f"{name} is no longer protected"
                yield self.outside(layer.origin, ("protect", "remove", index), "L304", text)
            if self.strict:
                for program in sorted({r.program for r in unpinned(self.policy)}):
                    yield self.outside(layer.origin, (), "L303", f"{program} is not pinned")

    def outside(
        self, origin: str, path: tuple[str | int, ...], code: str, message: str
    ) -> LintFinding:
        layer = next(layer for layer in self.builder.layers if layer.origin == origin)
        place = layer.document.diagnostic(path, "", key=True)
        return LintFinding(code, SEVERITIES[code], message, origin, place.line, place.column)


def unpinned(policy: Policy) -> list[CompiledLine]:
    """The lines of programs without a digest."""
    pinned = {p.name for p in policy.programs.values() if p.sha256}
    return [entry.line for entry in policy.entries if entry.line.program not in pinned]


def accepts(line: CompiledLine, span: Span) -> bool:
    """Whether a line accepts a command whose inner commands are taken as allowed."""
    return Walk(line, span, lambda inner: None).run() is None  # noqa: ARG005


def remote(value: ValueType) -> bool:
    """Whether a type admits what a program would fetch."""
    return any(value.check(probe, HERE) is None for probe in ("host:x", "http://x/y"))


def informational(line: CompiledLine) -> bool:
    """A line without operands: ``make --version`` runs nothing."""
    return not line.operands.places and all(len(s.literals) <= 1 for s in line.pinned)


def is_optional(item: OptionGroup | Group) -> bool:
    return not item.required if isinstance(item, OptionGroup) else item.optional


def has_options(items: tuple[Item, ...]) -> bool:
    return any(isinstance(item, OptionGroup) for item in items)


def follows_literal(items: tuple[Item, ...], item: OptionGroup) -> bool:
    """Whether a bare option forms a pair with what follows it, or stands last."""
    at = items.index(item)
    return at + 1 == len(items) or not isinstance(items[at + 1], OptionGroup)


def has_end(items: tuple[Item, ...]) -> bool:
    for item in items:
        if isinstance(item, End):
            return True
        if isinstance(item, Group) and any(has_end(a) for a in item.alternatives):
            return True
    return False


def sarif(findings: list[LintFinding], version: str) -> dict[str, object]:
    """The findings as a SARIF 2.1.0 log."""
    results = [
        {
            "ruleId": finding.code,
            "level": finding.severity,
            "message": {"text": finding.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": finding.file},
                        "region": {
                            "startLine": max(finding.line, 1),
                            "startColumn": max(finding.column, 1),
                        },
                    }
                }
            ],
            **(
                {"suppressions": [{"kind": "inSource", "justification": finding.waived}]}
                if finding.waived
                else {}
            ),
        }
        for finding in findings
    ]
    driver = {"name": "stockade policy lint", "version": version,
              "rules": [{"id": code} for code in sorted({f.code for f in findings})]}  # fmt: skip
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
