"""diff: commands that two policies decide differently, by a corpus and by witnesses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from policies.authoring.lint import PROBES
from policies.authoring.recording import Recorded
from policies.authoring.witness import witnesses
from policies.command import Command
from policies.policy import Policy
from policies.verdict import Decision, Verdict

__all__ = ["Difference", "compare_policies"]

Change = Literal["widened", "narrowed", "deny-to-ask", "ask-to-allow", "conditions"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A command that is decided differently.

    Attributes:
        change: what happened to it.
        argv: the command.
        cwd: where it starts.
        before: the decision of the old policy.
        after: the decision of the new one.
        line: the line that decides it in the policy that allows more, or None.
        recorded: it is from the corpus, not made up.
    """

    change: Change
    argv: tuple[str, ...]
    cwd: str
    before: str
    after: str
    line: str | None
    recorded: bool

    @property
    def widens(self) -> bool:
        """Whether the new policy lets more happen."""
        return self.change in ("widened", "deny-to-ask", "ask-to-allow")


def compare_policies(
    old: Policy, new: Policy, corpus: Iterable[Recorded] = (), *, root: str = "/workspace"
) -> list[Difference]:
    """The commands, of the corpus and made from both policies' lines, that differ.

    Sound for what it shows; it does not show that nothing else differs.
    """
    found: dict[tuple[tuple[str, ...], str], Difference] = {}
    samples = [(one, True) for one in corpus]
    samples += [(Recorded(argv), False) for argv in made(old, new)]
    for one, recorded in samples:
        key = (one.argv, one.cwd)
        if key in found:
            continue
        command = Command(one.argv, one.cwd)
        before, after = old.judge(command, root=root), new.judge(command, root=root)
        change = change_between(before, after)
        if change is not None:
            line = after.line if after.decision <= before.decision else before.line
            labels = (before.decision.label, after.decision.label)
            found[key] = Difference(change, one.argv, one.cwd, *labels, line, recorded)
    return list(found.values())


def made(old: Policy, new: Policy) -> Iterator[tuple[str, ...]]:
    """Witnesses of every line of either policy, and the same with a probe for each word."""
    seen: set[tuple[str, ...]] = set()
    for policy in (old, new):
        for entry in policy.entries:
            for argv in witnesses(entry.line):
                for one in (argv, *probed(argv)):
                    if one not in seen:
                        seen.add(one)
                        yield one


def probed(argv: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The last word replaced by each probe."""
    if len(argv) > 1:
        for probe in PROBES:
            yield (*argv[:-1], probe)


def change_between(before: Verdict, after: Verdict) -> Change | None:
    """The class of a difference, or None."""
    one, two = before.decision, after.decision
    if one is two:
        if one is Decision.DENY:
            return None
        same = before.conditions == after.conditions and before.runs_code == after.runs_code
        return None if same else "conditions"
    if two is Decision.DENY:
        return "narrowed"
    if one is Decision.DENY:
        return "widened" if two is Decision.ALLOW else "deny-to-ask"
    return "ask-to-allow" if two is Decision.ALLOW else "narrowed"
