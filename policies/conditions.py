"""Joining conditions strictest, and merging path checks of several lines."""

from __future__ import annotations

from collections.abc import Iterable

from policies.judging import Finding, Hit
from policies.rule import Rule
from policies.verdict import Conditions, PathCheck, fast_path_check

__all__ = ["all_rules", "conditions_of", "joined", "merged_checks"]


def joined(parts: Iterable[Conditions]) -> Conditions:
    """The strictest of each condition; ``network`` is the intersection."""
    parts = list(parts)
    result = parts[0]
    for other in parts[1:]:
        if other is result:
            continue
        forced = dict(result.env)
        for name, value in other.env:
            forced.setdefault(name, value)
        result = Conditions(
            isolation=max(result.isolation, other.isolation),
            limits=result.limits.least(other.limits),
            network=tuple(host for host in result.network if host in other.network),
            env=tuple(sorted(forced.items())),
        )
    return result


def conditions_of(finding: Finding) -> Conditions:
    """The strictest conditions of every line that counts.

    A wrapper that says nothing of the network leaves that to the command inside.
    """
    parts: list[Conditions] = []
    for hit in finding.hits:
        own = hit.entry.rule.conditions
        if hit.inner:
            inside = joined([conditions_of(inner) for inner in hit.inner])
            if not own.network:
                own = Conditions(own.isolation, own.limits, inside.network, own.env)
            own = joined([own, inside])
        parts.append(own)
    return joined(parts)


def all_rules(finding: Finding) -> list[Rule]:
    """The rules of every line that counts, inner commands included."""
    rules: list[Rule] = []
    for hit in finding.hits:
        rules.append(hit.entry.rule)
        for inner in hit.inner:
            rules.extend(all_rules(inner))
    return rules


def merged_checks(finding: Finding) -> tuple[PathCheck, ...]:
    """The path checks of all lines that count; where they differ, the one all can live with."""
    hits = finding.hits
    if len(hits) == 1 and not hits[0].inner:
        return tuple(hits[0].checks)
    found: dict[tuple[int, str], PathCheck] = {}
    for hit in hits:
        checks = list(hit.checks)
        for inner in hit.inner:
            checks.extend(merged_checks(inner))
        for check in checks:
            key = (check.word, check.path)
            known = found.get(key)
            if known is None:
                found[key] = check
                continue
            kind = check.kind if known.kind == check.kind else "path"
            writable = check.writable or known.writable
            found[key] = fast_path_check(check.word, check.path, kind, writable, check.root)
    for key, check in found.items() if len(hits) > 1 else ():
        if check.kind != "path" and not all(has_check(hit, key) for hit in hits):
            found[key] = fast_path_check(check.word, check.path, "path", check.writable, check.root)
    return tuple(found.values())


def has_check(hit: Hit, key: tuple[int, str]) -> bool:
    """Whether a line checks this word as this path."""
    return any((check.word, check.path) == key for check in hit.checks)
