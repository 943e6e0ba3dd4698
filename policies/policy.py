"""Policy: the loaded rules, and the verdicts on commands, plans and tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from policies.command import Command, Plan
from policies.conditions import all_rules, joined, merged_checks
from policies.identity import Identity
from policies.judging import NO_GATE, Finding, Judging, word_fault
from policies.limits import Budgets, Isolation, Limits
from policies.matching.fault import Miss
from policies.matching.walk import Span
from policies.messages import denial
from policies.rule import Ban, Entry, Gate, Program
from policies.shelf import Shelf
from policies.values.paths import PROTECTED
from policies.values.value import Place
from policies.verdict import Conditions, Decision, Verdict

__all__ = ["Policy"]

NO_CONDITIONS = Conditions()


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
        entries: all allow and ask lines.
        bans: all deny lines.
        programs: identities by program name.
        tools: the policy of tool calls.
    """

    def __init__(
        self,
        *,
        name: str,
        entries: Sequence[Entry] = (),
        bans: Sequence[Ban] = (),
        programs: Mapping[str, Program] | None = None,
        tools: Policy | None = None,
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
        self.entries = tuple(entries)
        self.bans = tuple(bans)
        self.programs = dict(programs or {})
        self.tools = tools
        self.identity = Identity(self.programs)
        self.shelves = shelves(self.entries, self.bans, self.programs)
        self.places: dict[tuple[str, str], Place] = {}

    @property
    def isolation(self) -> Isolation:
        """The least level for every command."""
        return self.conditions.isolation

    @property
    def limits(self) -> Limits:
        """What one call may use."""
        return self.conditions.limits

    def __repr__(self) -> str:
        return f"Policy({self.name!r}, {len(self.entries)} lines, {self.digest[:15]})"

    def judge(self, command: Command, *, root: str = "/workspace") -> Verdict:
        """The verdict on one argv.

        Args:
            command: what is to run.
            root: absolute path of the workspace in the box; absolute paths below it are paths.
        """
        gate = NO_GATE
        if command.env or command.stdin is not None:
            gate = Gate(command.env, frozenset(), command.stdin is not None)
        return self.judge_argv(command.argv, self.place(root, command.cwd), gate)

    def judge_plan(self, plan: Plan, *, root: str = "/workspace") -> Verdict:
        """The verdict on a plan: one denied stage denies it, one asked-for stage asks once."""
        from policies.plans import judge_plan

        return judge_plan(self, plan, root)

    def judge_tool(
        self, name: str, paths: Sequence[str] = (), *, root: str = "/workspace"
    ) -> Verdict:
        """The verdict on a tool call over its declared path arguments ([tools] lines)."""
        from policies.plans import judge_tool

        return judge_tool(self, name, paths, root)

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
        finding = self.find(argv, place, gate)
        if finding.miss is not None:
            return denial(self, argv, finding)
        return self.grant(argv, finding)

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
                return Judging(self.shelves, gate).judge(span, shelf)
        finding = Finding(0)
        finding.miss = miss
        return finding

    def grant(self, argv: tuple[str, ...], finding: Finding) -> Verdict:
        """The verdict on a command that at least one line accepts."""
        hits = finding.hits
        first = hits[0]
        rule = first.entry.rule
        if len(hits) == 1 and not first.inner:
            conditions = rule.conditions
            runs_code = rule.runs_code
        else:
            rules = all_rules(finding)
            conditions = joined([one.conditions for one in rules])
            runs_code = any(one.runs_code for one in rules)
        identity = self.identity.named(argv[0])
        if identity.env:
            conditions = joined(
                [
                    conditions,
                    Conditions(
                        conditions.isolation, conditions.limits, conditions.network, identity.env
                    ),
                ]
            )
        return Verdict(
            finding.decision,
            "ok",
            -1,
            rule.reason if finding.decision is Decision.ASK else "",
            rule.name,
            first.entry.line.text,
            runs_code,
            identity.program,
            identity.search,
            conditions,
            merged_checks(finding),
        )


def shelves(
    entries: Iterable[Entry], bans: Iterable[Ban], programs: Mapping[str, Program]
) -> dict[str, Shelf]:
    """All lines by program; other names of a program share its shelf."""
    found: dict[str, Shelf] = {}
    names = {other: program.name for program in programs.values() for other in program.also}
    for line in (*entries, *bans):
        name = names.get(line.line.program, line.line.program)
        shelf = found.setdefault(name, Shelf())
        if isinstance(line, Entry):
            shelf.add(line)
        else:
            shelf.bans.append(line)
    for other, name in names.items():
        if name in found:
            found[other] = found[name]
    return found
