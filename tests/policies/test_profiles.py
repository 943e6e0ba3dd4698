"""The built-in profiles: proved in full, and held against commands that agents really ran."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import policies
from policies import Command, Decision, LineError, Pipeline, Plan, parse_line
from policies.loading import compile_layers
from tests.policies.writing import write

CASES = Path(__file__).parent / "cases" / "agent-commands.jsonl"
UNKNOWN = {"no-program", "program-path", "env-leading"}


@cache
def corpus() -> list[tuple[str, str, Plan | LineError]]:
    found: list[tuple[str, str, Plan | LineError]] = []
    for text in CASES.read_text().splitlines():
        case = json.loads(text)
        try:
            read: Plan | LineError = parse_line(case["line"])
        except LineError as error:
            read = error
        found.append((case["source"].split("/")[0], case["line"], read))
    return found


@pytest.mark.parametrize("name", policies.profile_names())
def test_every_line_and_example_of_a_profile_holds(name):
    assert compile_layers(name, trust=False).policy.name == name


@pytest.mark.parametrize("name", policies.profile_names())
def test_every_rule_that_allows_has_examples_for_and_against(name):
    layer = compile_layers(name, trust=False).builder.layers[-1]
    weak = [
        raw.name
        for raw in layer.rules
        if not (raw.fields.data.get("match") and raw.fields.data.get("not_match"))
    ]
    assert weak == []


@pytest.mark.parametrize(("source", "share"), [("mini-swe-agent", 0.985), ("claude-code", 0.85)])
def test_what_agents_write_is_read_as_plans(source, share):
    reads = [read for origin, _, read in corpus() if origin == source]
    refused = Counter(read.reason for read in reads if isinstance(read, LineError))
    assert 1 - refused.total() / len(reads) >= share, refused


def test_python_dev_allows_what_agents_do_on_swe_bench():
    policy = policies.load("python-dev")
    lines = [(line, read) for origin, line, read in corpus() if origin == "mini-swe-agent"]
    verdicts = [
        policy.judge_plan(read, root="/testbed") for _, read in lines if isinstance(read, Plan)
    ]
    denied = Counter(verdict.reason for verdict in verdicts if verdict.decision is Decision.DENY)
    assert (len(verdicts) - denied.total()) / len(lines) >= 0.95, denied


def test_readonly_lets_nothing_of_the_corpus_write():
    policy = policies.load("readonly")
    for _, line, read in corpus():
        if not isinstance(read, Plan):
            continue
        verdict = policy.judge_plan(read, root="/testbed")
        writes = [check for check in verdict.checks if check.writable]
        assert not (verdict.decision is Decision.ALLOW and writes), line


def test_a_loaded_profile_does_not_depend_on_when_its_lines_are_compiled():
    lazy, eager = policies.load("python-dev"), compile_layers("python-dev", trust=False).policy
    for _, _, read in corpus():
        if isinstance(read, Plan):
            one, two = lazy.judge_plan(read), eager.judge_plan(read)
            assert (one.decision, one.reason, one.word, one.rule) == (
                two.decision,
                two.reason,
                two.word,
                two.rule,
            )


def corpus_argvs() -> list[tuple[str, ...]]:
    """Every argv of the corpus once."""
    plans = [read for _, _, read in corpus() if isinstance(read, Plan)]
    steps = [step for plan in plans for step in plan.steps if isinstance(step, Pipeline)]
    return list(dict.fromkeys(stage.argv for step in steps for stage in step.stages))


def test_a_deny_line_that_never_holds_changes_no_verdict(tmp_path):
    """Programs with deny lines are judged in full, others in a shorter way: both say the same."""
    head = 'schema = 1\nname = "p"\nextends = ["builtin:python-dev"]\n'
    plain = policies.load(write(tmp_path, head, "plain.toml"))
    commands = [Command(argv) for argv in corpus_argvs()]
    known = [one for one in commands if plain.judge(one).reason not in UNKNOWN]
    programs = {one.argv[0].rpartition("/")[2] for one in known}
    lines = [f"{program} --zz-never" for program in sorted(programs)]
    never = f'[[rule]]\nname = "never"\ndeny = {json.dumps(lines)}\n'
    full = policies.load(write(tmp_path, head + never, "full.toml"))
    verdicts = [[p.judge(one, root="/testbed") for one in known] for p in (plain, full)]
    assert verdicts[0] == verdicts[1]
    assert len(known) > 1000


@pytest.mark.parametrize("name", ["python-dev", "git-review"])
def test_the_order_in_which_commands_are_judged_changes_no_verdict(name):
    commands = [Command(argv) for argv in corpus_argvs()]
    forth, back = policies.load(name), policies.load(name)
    verdicts = [forth.judge(one) for one in commands]
    assert [back.judge(one) for one in reversed(commands)] == verdicts[::-1]
