"""coverage: which lines decided recorded commands, which never did, and what was denied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from policies.authoring.explanation import explain_command
from policies.authoring.recording import Recorded
from policies.command import Command
from policies.loading.loader import Loaded
from policies.verdict import Decision

__all__ = ["Coverage", "DeniedGroup", "LineUse", "cover"]


@dataclass(frozen=True, slots=True)
class LineUse:
    """How often a line decided."""

    rule: str
    text: str
    file: str
    line: int
    count: int


@dataclass(frozen=True, slots=True)
class DeniedGroup:
    """Denials of one kind.

    Attributes:
        program: the program.
        subcommand: its sub-command, or "".
        reason: the reason code.
        count: how often.
        example: one of the commands.
        edit: the edit that explain offers for it, or "".
    """

    program: str
    subcommand: str
    reason: str
    count: int
    example: tuple[str, ...]
    edit: str


@dataclass(slots=True)
class Coverage:
    """What recorded commands say of a policy.

    Attributes:
        commands: how many there were.
        lines: every allow and ask line with its count.
        denied: the denials, the most frequent first.
        strangers: digests of other policies that decided commands of the logs.
    """

    commands: int = 0
    lines: list[LineUse] = field(default_factory=list)
    denied: list[DeniedGroup] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    @property
    def unused(self) -> list[LineUse]:
        """The lines that never decided."""
        return [line for line in self.lines if line.count == 0]


def cover(loaded: Loaded, records: Iterable[Recorded], *, root: str = "/workspace") -> Coverage:
    """Judge recorded commands and count."""
    policy = loaded.policy
    found = Coverage()
    uses: Counter[str] = Counter()
    denied: dict[tuple[str, str, str], list[tuple[str, ...]]] = {}
    strangers: set[str] = set()
    for one in records:
        found.commands += 1
        if one.policy and one.policy != policy.digest:
            strangers.add(one.policy)
        verdict = policy.judge(Command(one.argv, one.cwd), root=root)
        if verdict.decision is not Decision.DENY:
            uses.update(lines_of(loaded, one))
            continue
        words = one.argv[1:2]
        sub = words[0] if words and words[0].isalpha() else ""
        denied.setdefault((one.argv[0], sub, verdict.reason), []).append(one.argv)
    for entry in policy.entries:
        layer, path = loaded.builder.places[entry.number]
        found.lines.append(
            LineUse(
                entry.rule.name,
                entry.line.text,
                layer.origin,
                layer.document.line_of(path),
                uses[str(entry.number)],
            )
        )
    for (program, sub, reason), argvs in sorted(denied.items(), key=lambda i: -len(i[1])):
        edits = explain_command(loaded, Command(argvs[0]), root=root).edits
        edit = edits[0].text if edits else ""
        found.denied.append(DeniedGroup(program, sub, reason, len(argvs), argvs[0], edit))
    found.strangers = sorted(strangers)
    return found


def lines_of(loaded: Loaded, one: Recorded) -> set[str]:
    """The numbers of the lines that accepted a command, inner commands included."""
    policy = loaded.policy
    numbers: set[str] = set()
    waiting = [policy.find(one.argv, policy.place("/workspace", one.cwd))]
    while waiting:
        finding = waiting.pop()
        for hit in finding.hits:
            numbers.add(str(hit.entry.number))
            waiting.extend(hit.inner)
    return numbers
