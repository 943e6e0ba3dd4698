"""The knowledge of what programs do with their options, and the profiles held against it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

import policies
from policies import Command, Decision, compile_layers, lint_policy, profile_names
from policies.authoring.hazard import hazards

SOURCE = re.compile(
    r"(GTFOBins|argument-injection-vectors) \S+|\S+\(\d\).*|npm-config"
    r"|\S.*(documentation|manual|help).*"
)
KINDS = ("inline", "runs", "injects", "reads", "writes", "reaches")


@cache
def loaded(name: str):
    return compile_layers(name, trust=False)


def test_every_entry_names_its_sources():
    bare = [program for program, known in hazards().items() if not known.sources]
    odd = {s for known in hazards().values() for s in known.sources if not SOURCE.fullmatch(s)}
    assert (bare, odd) == ([], set())


def test_an_entry_of_a_catalogue_is_the_entry_of_the_program():
    wrong = [
        (program, source)
        for program, known in hazards().items()
        for source in known.sources
        if source.startswith("GTFOBins ") and source != f"GTFOBins {program}"
    ]
    assert wrong == []


def test_the_table_knows_hundreds_of_programs_and_every_kind_of_hazard():
    known = hazards()
    assert len(known) >= 250
    assert [kind for kind in KINDS if not any(getattr(one, kind) for one in known.values())] == []


def dangerous(program: str) -> Iterator[str]:
    """Options that run something or change the configuration, as single words."""
    known = hazards()[program]
    for kind in ("runs", "injects", "reaches"):
        for name in getattr(known, kind):
            word = name.rpartition(":")[2]
            if word.startswith("-"):
                yield word


def accepted(name: str) -> list[str]:
    """Examples of a profile that stay allowed with a dangerous option put in."""
    layer = loaded(name)
    own = {e.line.program for e in layer.policy.entries if not e.rule.runs_code}
    found: list[str] = []
    for raw in layer.builder.layers[-1].rules:
        if raw.fields.data.get("runs_code"):
            continue
        for example in raw.fields.data.get("match", []):
            argv = example.split() if isinstance(example, str) else []
            if not argv or argv[0] not in hazards() or argv[0] not in own:
                continue
            for word in dangerous(argv[0]):
                for more in ((word,), (word, "./evil"), (f"{word}=./evil",), (f"{word}./evil",)):
                    trick = (argv[0], *more, *argv[1:])
                    if layer.policy.judge(Command(trick)).decision is not Decision.DENY:
                        found.append(" ".join(trick))
    return found


@pytest.mark.parametrize("name", profile_names())
def test_no_rule_that_runs_no_code_takes_an_option_known_to_run_or_reach_something(name):
    assert [trick for trick in accepted(name) if not harmless(trick)] == []


def harmless(trick: str) -> bool:
    """The exec of find is judged by itself, and echo prints whatever it is given."""
    return trick.startswith(("find ", "echo ", "printf "))


@pytest.mark.parametrize("name", profile_names())
def test_every_waiver_of_a_profile_is_needed(name):
    findings = {(one.rule, one.code) for one in lint_policy(loaded(name)) if one.waived}
    layer = loaded(name).builder.layers[-1]
    idle = [
        (raw.name, code)
        for raw in layer.rules
        for code in raw.fields.data.get("waive", {})
        if (raw.name, code) not in findings
    ]
    assert idle == []


def test_workspace_programs_are_code_wherever_they_stand():
    policy = policies.load("work")
    for argv in (("./x",), ("timeout", "5", "./x"), ("env", "A=1", "./x"), ("nice", "./x")):
        verdict = policy.judge(Command(argv))
        assert (verdict.decision, verdict.runs_code) == (Decision.ALLOW, True)
    assert policy.judge(Command(("timeout", "5", "./../x"))).decision is Decision.DENY
