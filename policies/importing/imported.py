"""import_policy: a policy file made from another tool's permissions, with all that was lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from policies.command import Command
from policies.importing.claude import read_claude
from policies.importing.codex import read_codex
from policies.importing.draft import Draft, Loss
from policies.importing.gemini import read_gemini
from policies.policy import Policy
from policies.verdict import Decision

__all__ = ["Imported", "Loss", "Source", "import_policy"]

Source = Literal["codex", "claude", "gemini"]
READERS = {"codex": read_codex, "claude": read_claude, "gemini": read_gemini}


@dataclass(frozen=True, slots=True)
class Imported:
    """A policy file and the report.

    Attributes:
        text: the file as TOML.
        losses: what was not carried over as it was, in the order of the source.
    """

    text: str
    losses: tuple[Loss, ...]


def import_policy(text: str, source: Source) -> Imported:
    """Import the permissions of another tool; nothing is widened.

    Args:
        text: the file.
        source: codex (exec policy), claude (settings JSON) or gemini (policy TOML).
    """
    draft = READERS[source](text)
    keep_true_examples(draft, f"imported-{source}")
    losses = sorted(draft.losses, key=lambda loss: loss.line)
    return Imported(draft.toml(f"imported-{source}"), tuple(losses))


def keep_true_examples(draft: Draft, name: str) -> None:
    """Their examples speak of one rule, ours of the whole file: those that hold are kept."""
    policy = compiled(draft, name)
    for rule in draft.rules:
        good, bad = rule.good, rule.bad
        if rule.kind == "deny":
            good, bad = bad, good
        rule.good = kept(policy, good, draft, rule.source, denied=False)
        rule.bad = kept(policy, bad, draft, rule.source, denied=True)


def kept(
    policy: Policy, examples: list[list[str]], draft: Draft, line: int, *, denied: bool
) -> list[list[str]]:
    """The examples that the whole policy decides as they say."""
    found: list[list[str]] = []
    for argv in examples:
        verdict = policy.judge(Command(tuple(argv)))
        if (verdict.decision is Decision.DENY) is denied:
            found.append(argv)
        else:
            draft.lose("example-dropped", f"{' '.join(argv)!r} is decided by another rule", line)
    return found


def compiled(draft: Draft, name: str) -> Policy:
    """The policy of a draft without its examples."""
    from policies.loading.builder import Builder
    from policies.loading.document import Document
    from policies.loading.layer import Layer

    bare = Draft([], [], draft.hosts, draft.paths, draft.deny_lost)
    bare.rules = [type(rule)(rule.kind, rule.lines) for rule in draft.rules]
    return Builder([Layer(Document(name, bare.toml(name)), origin=name)]).build()
