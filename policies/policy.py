"""Policy: the loaded rules, and the verdicts on commands, plans and tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from policies.command import Command, Plan
from policies.conditions import all_rules, conditions_of, joined, merged_checks
from policies.identity import Identity, Named
from policies.judging import (
    NO_GATE,
    Finding,
    Hit,
    Judging,
    is_plain,
    keep_strictest,
    word_fault,
)
from policies.limits import Budgets, Isolation, Limits
from policies.matching.fault import Miss
from policies.matching.sprint import dash
from policies.matching.walk import Span, Walk
from policies.messages import denial
from policies.rule import Ban, Entry, Gate, Program, Rule, Waiting
from policies.shelf import Shelf
from policies.values.value import Place
from policies.verdict import (
    PROTECTED,
    Conditions,
    Decision,
    PathCheck,
    Verdict,
    fast_verdict,
    with_checks,
)

__all__ = ["Policy"]

NO_CONDITIONS = Conditions()
MOST_KNOWN = 4096


class Policy:
    """What may run, and how.

    Made by :func:`policies.load`. Immutable; judging is pure and never raises.

    Attributes:
        name: as the file says.
        description: one sentence, or "".
        digest: ``sha256:`` of the canonical content of all layers.
        isolation: the least level for every command.
        limits: what one call may use.
        budgets: what one run may spend.
        protect: protected names.
        roots: named roots beside the workspace.
        redirect: redirections that stages may have, of ``read`` and ``write``.
        globs: globs in command lines are expanded.
        lines: all allow and ask lines, some of them not compiled yet.
        bans: all deny lines.
        programs: identities by program name.
        tools: the policy of tool calls.
        only: lines of a project file; a program named there must match one of them too.
    """

    def __init__(  # noqa: PLR0913 (a record of what a file says)
        self,
        *,
        name: str,
        entries: Sequence[Entry | Waiting] = (),
        bans: Sequence[Ban] = (),
        programs: Mapping[str, Program] | None = None,
        tools: Policy | None = None,
        only: Policy | None = None,
        description: str = "",
        digest: str = "",
        conditions: Conditions = NO_CONDITIONS,
        budgets: Budgets | None = None,
        protect: tuple[str, ...] = PROTECTED,
        roots: Mapping[str, str] | None = None,
        redirect: Iterable[str] = (),
        globs: bool = True,
    ) -> None:
        self.name = name
        self.description = description
        self.digest = digest
        self.conditions = conditions
        self.budgets = budgets or Budgets()
        self.protect = protect
        self.roots = dict(roots or {})
        self.redirect = frozenset(redirect)
        self.globs = globs
        self.lines = tuple(entries)
        self.bans = tuple(bans)
        self.programs = dict(programs or {})
        self.tools = tools
        self.only = only
        self.identity = Identity(self.programs)
        self.shelves = shelves(self.lines, self.bans, self.programs)
        self.places: dict[tuple[str, str], Place] = {}
        self.settlements: dict[tuple[object, ...], tuple[Conditions, bool]] = {}
        self.granted: dict[tuple[str, Entry], Verdict] = {}
        self.pathless: dict[tuple[str, str], Verdict] = {}

    @property
    def isolation(self) -> Isolation:
        """The least level for every command."""
        return self.conditions.isolation

    @property
    def limits(self) -> Limits:
        """What one call may use."""
        return self.conditions.limits

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All allow and ask lines, in file order."""
        return tuple(line.now() if isinstance(line, Waiting) else line for line in self.lines)

    def __repr__(self) -> str:
        return f"Policy({self.name!r}, {len(self.lines)} lines, {self.digest[:15]})"

    def judge(self, command: Command, *, root: str = "/workspace") -> Verdict:
        """The verdict on one argv.

        Args:
            command: what is to run.
            root: absolute path of the workspace in the box; absolute paths below it are paths.
        """
        gate = NO_GATE
        if command.env or command.stdin is not None:
            gate = Gate(command.env, frozenset(), command.stdin is not None)
        place = self.places.get((root, command.cwd)) or self.place(root, command.cwd)
        return self.judge_argv(command.argv, place, gate)

    def judge_plan(self, plan: Plan, *, root: str = "/workspace") -> Verdict:
        """The verdict on a plan: one denied stage denies it, one asked-for stage asks once."""
        from policies.plans import judge_plan

        return judge_plan(self, plan, root)

    def judge_tool(
        self, name: str, paths: Sequence[str] = (), *, root: str = "/workspace"
    ) -> Verdict:
        """The verdict on a tool call over its declared path arguments ([tools] lines)."""
        known = None if paths else self.pathless.get((name, root))
        if known is not None:  # always the same words: judged once
            return known
        from policies.plans import judge_tool

        verdict = judge_tool(self, name, paths, root)
        if not paths and len(self.pathless) < MOST_KNOWN:
            self.pathless[(name, root)] = verdict
        return verdict

    def place(self, root: str, cwd: str) -> Place:
        """The parsed folder, kept for the next command."""
        place = self.places.get((root, cwd))
        if place is None:
            place = Place(root, cwd)
            if len(self.places) < 64:
                self.places[(root, cwd)] = place
        return place

    def judge_argv(self, argv: Sequence[str], place: Place, gate: Gate) -> Verdict:
        """The verdict on words at a place, with what stands around them."""
        argv = tuple(argv)
        shelf = self.shelves.get(argv[0]) if argv else None
        if shelf is not None and gate is NO_GATE:
            verdict = self.simple(argv, place, shelf)
            if verdict is not None:
                return verdict
        finding = self.find(argv, place, gate)
        if finding.miss is not None:
            return denial(self, argv, finding)
        return self.grant(argv, finding)

    def simple(self, argv: tuple[str, ...], place: Place, shelf: Shelf) -> Verdict | None:
        """What `find` finds, where only allow and ask lines have a say, without conditions.

        Everything else is None, and judged in full.
        """
        text = "\0".join(argv)
        if (
            shelf.bans
            or self.only is not None
            or place.outside
            or "/" in argv[0]
            or not is_plain(text, len(argv))
        ):
            return None
        hits: list[tuple[Entry, list[PathCheck]]] = []
        miss: Miss | None = None
        nearest: Entry | None = None
        for entry in shelf.candidates(argv, 0, len(argv)):
            line = entry.line
            if line.needles and lacks(line.needles, text):
                continue
            if line.runs_commands or entry.rule.gated:
                return None
            checks = dash(line, argv, place)
            if checks is None:
                walk = Walk(line, Span(argv, 0, len(argv), place), no_command)
                found = walk.run()
                if found is not None:
                    if miss is None or found.word > miss.word:
                        miss, nearest = found, entry
                    continue
                checks = walk.checks
            hits.append((entry, checks))
        if len(hits) == 1:
            return self.grant_by(argv[0], *hits[0])
        finding = Finding(0)
        if hits:
            keep_strictest(finding, [Hit(e, e.decision, checks, ()) for e, checks in hits])
            return self.grant(argv, finding)
        if miss is None:
            return None
        finding.miss, finding.nearest = miss, nearest
        return denial(self, argv, finding)

    def find(self, argv: tuple[str, ...], place: Place, gate: Gate = NO_GATE) -> Finding:
        """What the rules say, before it is put into words."""
        miss = word_fault(argv)
        if miss is None and place.outside:
            miss = Miss("cwd-denied", 0)
        if miss is None:
            shelf = self.shelves.get(argv[0])
            if shelf is None or "/" in argv[0]:
                shelf, miss = self.identity.shelf(argv[0], place, self.shelves)
            if shelf is not None:
                span = Span(argv, 0, len(argv), place)
                fence = self.only.shelves if self.only is not None else None
                return Judging(self.shelves, gate, fence).judge(span, shelf)
        finding = Finding(0)
        finding.miss = miss
        return finding

    def grant(self, argv: tuple[str, ...], finding: Finding) -> Verdict:
        """The verdict on a command that at least one line accepts."""
        hits = finding.hits
        first = hits[0]
        if len(hits) == 1 and not first.inner:
            return self.grant_by(argv[0], first.entry, first.checks)
        identity = self.identity.named(argv[0])
        rules = all_rules(finding)
        known = self.settlements.get((identity, *rules))
        if known is None:
            known = self.settled(identity, rules, conditions_of(finding))
            if len(self.settlements) < MOST_KNOWN:
                self.settlements[(identity, *rules)] = known
        checks = merged_checks(finding)
        return granted(finding.decision, first.entry, identity, known, checks)

    def grant_by(self, word: str, entry: Entry, checks: list[PathCheck]) -> Verdict:
        """The verdict on a command that one line accepts, without a command inside.

        But for its paths it is the same each time, so one is kept as a pattern.
        """
        pattern = self.granted.get((word, entry))
        if pattern is None:
            identity = self.identity.named(word)
            known = self.settled(identity, [entry.rule], entry.rule.conditions)
            pattern = granted(entry.decision, entry, identity, known, ())
            if len(self.granted) < MOST_KNOWN:
                self.granted[(word, entry)] = pattern
        return with_checks(pattern, tuple(checks)) if checks else pattern

    def settled(
        self, identity: Named, rules: list[Rule], found: Conditions
    ) -> tuple[Conditions, bool]:
        """The conditions with the program's forced variables, and whether code may run."""
        if identity.env:
            forced = Conditions(found.isolation, found.limits, found.network, identity.env)
            found = joined([found, forced])
        return found, any(rule.runs_code for rule in rules)


def granted(
    decision: Decision,
    entry: Entry,
    identity: Named,
    known: tuple[Conditions, bool],
    checks: tuple[PathCheck, ...],
) -> Verdict:
    """The verdict that a line gives."""
    rule = entry.rule
    return fast_verdict(
        decision,
        "ok",
        -1,
        rule.reason if decision is Decision.ASK else "",
        rule.name,
        entry.line.text,
        known[1],
        identity.program,
        identity.search,
        known[0],
        checks,
        (),
        0,
        0,
        identity.paths,
        identity.sha256,
    )


def lacks(needles: tuple[tuple[str, ...], ...], text: str) -> bool:
    """Whether no word begins as one of the demands says; ``text`` are the words joined by NUL."""
    for beginnings in needles:
        for beginning in beginnings:
            if beginning in text:
                break
        else:
            return True
    return False


def no_command(span: Span) -> Miss:
    """Stands where lines that run commands are left to the full judgement."""
    return Miss("no-program", span.start)


def shelves(
    lines: Iterable[Entry | Waiting], bans: Iterable[Ban], programs: Mapping[str, Program]
) -> dict[str, Shelf]:
    """All lines by program; other names of a program share its shelf."""
    found: dict[str, Shelf] = {}
    names = {other: program.name for program in programs.values() for other in program.also}

    def shelf(program: str) -> Shelf:
        return found.setdefault(names.get(program, program), Shelf())

    for line in lines:
        if isinstance(line, Waiting):
            shelf(line.program).waiting.append(line)
        else:
            shelf(line.line.program).add(line)
    for ban in bans:
        shelf(ban.line.program).bans.append(ban)
    for other, name in names.items():
        if name in found:
            found[other] = found[name]
    return found
