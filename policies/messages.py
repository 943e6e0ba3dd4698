"""Words for a denial: what is wrong, where, and what the nearest line would have taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from policies.judging import Finding
from policies.matching.fault import Miss
from policies.reasons import sentence
from policies.verdict import Decision, Verdict, fast_verdict

if TYPE_CHECKING:
    from policies.policy import Policy

__all__ = ["denial", "shortened", "shown"]

LONGEST_SHOWN = 60
LONGEST_LINE = 100
MOST_EXPECTED = 8


def shown(word: str) -> str:
    """A word for a message: one line, no control characters, not too long."""
    text = ascii(word) if not word.isprintable() else repr(word)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "...'"


def denial(policy: Policy, argv: Sequence[str], finding: Finding) -> Verdict:
    """The verdict that a command is denied, with the nearest miss as reason."""
    miss = finding.miss
    if miss is None:
        raise AssertionError(finding)
    entry = finding.nearest
    rule = finding.ban.rule if finding.ban is not None else entry.rule if entry else None
    line = finding.ban.line if finding.ban is not None else entry.line if entry else None
    named = policy.identity.named(argv[0]) if argv else None
    return fast_verdict(
        Decision.DENY,
        miss.reason,
        miss.word,
        message(policy, argv, finding, miss),
        rule.name if rule is not None else None,
        line.text if line is not None else None,
        False,
        named.program if named is not None else "",
        named.search if named is not None else (),
        policy.conditions,
    )


def message(policy: Policy, argv: Sequence[str], finding: Finding, miss: Miss) -> str:
    """One sentence: the reason, the word, what was expected, the rule."""
    text = sentence(miss.reason)
    if miss.word < len(argv):
        text += f": word {miss.word} {shown(argv[miss.word])}"
    expected = miss.expected
    if expected:
        text += f"; expected {listed(expected)}"
    if finding.ban is not None:
        text += f" (rule {finding.ban.rule.name}: {finding.ban.line.text})"
        if finding.ban.rule.reason:
            text += f": {finding.ban.rule.reason}"
    elif finding.nearest is not None:
        near = shortened(finding.nearest.line.text)
        text += f" (nearest: rule {finding.nearest.rule.name}: {near})"
        if finding.nearest.rule.reason:
            text += f": {finding.nearest.rule.reason}"
    elif miss.reason == "no-program" and argv:
        text += close_names(policy, argv[min(miss.word, len(argv) - 1)])
    return text


def shortened(line: str) -> str:
    """A line for a message: its beginning says which it is."""
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 3] + "..."


def listed(words: Sequence[str]) -> str:
    more = len(words) - MOST_EXPECTED
    text = ", ".join(words[:MOST_EXPECTED])
    return f"{text} and {more} more" if more > 0 else text


def close_names(policy: Policy, word: str) -> str:
    """Programs of the policy whose name is one slip away from the word."""
    if not 2 < len(word) < 32:
        return ""
    first = word[0]
    names = [name for name in policy.shelves if name[0] == first and abs(len(name) - len(word)) < 2]
    close = [name for name in names if is_slip(word, name)][:2]
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def is_slip(word: str, name: str) -> bool:
    """Whether one letter more, less, other, or two letters swapped make the words equal."""
    start = 0
    while start < min(len(word), len(name)) and word[start] == name[start]:
        start += 1
    left, right = word[start:], name[start:]
    return (
        left[1:] == right[1:]
        or left[1:] == right
        or left == right[1:]
        or (left[:2] == right[1::-1] and left[2:] == right[2:])
    )
