"""One action in a box: judged, asked about, resolved, checked, run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import policies
from harness.action import (
    PlanFormError,
    perform,
    plan_from_json,
    plan_line,
    plan_to_json,
)
from harness.approval import CallableApprover
from harness.bus import Events
from policies import (
    Cd,
    Command,
    Conditions,
    Decision,
    FromFile,
    FromText,
    Limits,
    NullDevice,
    PathCheck,
    Pipeline,
    Plan,
    Stage,
    ToFile,
    ToStdout,
)
from runners import Ending, LimitHit, Outcome, ScriptedSession
from tests.harness.doubles import Recorder, TableJudge, exited

JUDGE = TableJudge(programs={"ls": "allow", "cat": "allow", "git": "ask", "rm": "deny"})


def argvs(session: ScriptedSession) -> list[tuple[str, ...]]:
    return [stage.argv for run in session.runs for stage in run.pipeline.stages]


def plan_of(*steps: Any, links: tuple[Any, ...] = ()) -> Plan:
    made = tuple(
        step if isinstance(step, Pipeline | Cd) else Pipeline((Stage(tuple(step.split())),))
        for step in steps
    )
    return Plan(made, links or (";",) * (len(made) - 1))


async def test_an_allowed_command_runs_by_its_resolved_path() -> None:
    session = ScriptedSession([exited(0, "out")], programs={"ls": "/usr/bin/coreutils"})
    done = await perform(session, JUDGE, Command(("ls", "-l")))
    [run] = session.runs
    assert (run.pipeline.stages[0].argv, run.programs) == (("ls", "-l"), ("/usr/bin/coreutils",))
    assert (done.denied, done.outcome.code, done.codes) == (False, 0, ((0,),))


async def test_a_denied_command_starts_nothing() -> None:
    session = ScriptedSession()
    done = await perform(session, JUDGE, Command(("rm", "x")))
    assert (done.denied, done.verdict.reason, done.steps, session.runs) == (
        True,
        "no-program",
        (),
        [],
    )


async def test_one_denied_stage_denies_the_plan_before_anything_starts() -> None:
    session = ScriptedSession()
    done = await perform(session, JUDGE, plan_of("ls", "rm x"))
    assert (done.denied, done.verdict.stage, session.runs) == (True, 1, [])


@pytest.mark.parametrize(("yes", "reason"), [(True, "ok"), (False, "approval-denied")])
async def test_what_the_policy_asks_is_asked_once_with_all_of_the_plan(
    yes: bool, reason: str
) -> None:
    asked: list[str] = []

    def answer(request: Any) -> bool:
        asked.append(request.summary)
        return yes

    session = ScriptedSession(lambda _: exited(0))
    plan = plan_of("git push", "git fetch")
    done = await perform(session, JUDGE, plan, approver=CallableApprover(answer))
    assert asked == ["git push ; git fetch"]
    assert (done.asked, done.denied, done.verdict.reason) == (True, not yes, reason)
    assert len(session.runs) == (2 if yes else 0)


async def test_a_question_without_an_answerer_is_a_denial() -> None:
    done = await perform(ScriptedSession(), JUDGE, Command(("git", "push")))
    assert (done.denied, done.unanswered, done.verdict.reason) == (
        True,
        True,
        "approval-unavailable",
    )


@pytest.mark.parametrize(
    ("links", "codes", "ran"),
    [
        ((";", ";"), [1, 1, 1], "abc"),
        (("&&", "&&"), [0, 1, 0], "ab"),
        (("&&", "||"), [1, 0, 0], "ac"),
        (("||", "&&"), [0, 0, 0], "ac"),
        (("||", "&&"), [1, 0, 0], "abc"),
        (("&&", ";"), [1, 0, 0], "ac"),
    ],
)
async def test_links_decide_by_the_last_code(links: Any, codes: list[int], ran: str) -> None:
    answers = dict(zip("abc", codes, strict=True))
    judge = TableJudge(programs=dict.fromkeys("abc", "allow"))
    session = ScriptedSession(lambda run: exited(answers[run.pipeline.stages[0].argv[0]]))
    done = await perform(session, judge, plan_of(*"abc", links=links))
    assert "".join(argv[0] for argv in argvs(session)) == ran
    assert [not step.skipped for step in done.steps] == [word in ran for word in "abc"]


async def test_cd_sets_the_folder_of_what_follows_and_a_failed_one_ends_the_plan() -> None:
    session = ScriptedSession(lambda _: exited(0), files={"src/deep/a.py": ""})
    plan = plan_of(Cd("src"), "ls", Cd("deep"), "ls", Cd("none"), "ls")
    done = await perform(session, JUDGE, plan)
    assert [run.cwd for run in session.runs] == ["./src", "./src/deep"]
    assert done.problem == "cd none: none: is no folder"
    assert [step.skipped for step in done.steps] == [False] * 5 + [True]


async def test_what_is_left_of_the_limits_is_handed_on() -> None:
    outcomes = [
        Outcome(Ending.EXITED, 0, codes=(0,), wall_seconds=3.0, cpu_seconds=1.0),
        exited(0),
    ]
    session = ScriptedSession(outcomes)
    limits = Limits(wall_seconds=10, cpu_seconds=5)
    await perform(session, JUDGE, plan_of("ls", "ls"), limits=limits)
    assert [(run.limits.wall_seconds, run.limits.cpu_seconds) for run in session.runs] == [
        (10, 5),
        (7, 4),
    ]


async def test_the_smallest_of_all_limits_holds() -> None:
    judge = replace(
        JUDGE,
        limits=Limits(memory_mib=300, processes=9),
        conditions=Conditions(limits=Limits(memory_mib=200)),
    )
    session = ScriptedSession([exited(0)])
    await perform(session, judge, Command(("ls",)), limits=Limits(memory_mib=400, open_files=7))
    [run] = session.runs
    assert (run.limits.memory_mib, run.limits.processes, run.limits.open_files) == (200, 9, 7)


@pytest.mark.parametrize(
    ("outcome", "goes_on"),
    [
        (Outcome(Ending.TIMED_OUT, codes=(-9,)), False),
        (Outcome(Ending.CANCELLED, codes=(-9,)), False),
        (Outcome(Ending.KILLED_BY_LIMIT, limit="cpu_seconds", codes=(-9,)), False),
        (Outcome(Ending.KILLED_BY_LIMIT, limit="memory_mib", codes=(-9,)), True),
        (Outcome(Ending.SIGNALLED, signal=11, codes=(-11,)), True),
    ],
)
async def test_a_spent_limit_ends_the_plan(outcome: Outcome, goes_on: bool) -> None:
    session = ScriptedSession([outcome, exited(0)])
    done = await perform(session, JUDGE, plan_of("ls", "ls"))
    assert (len(session.runs) == 2, done.steps[1].skipped) == (goes_on, not goes_on)


async def test_paths_are_checked_before_the_start() -> None:
    judge = replace(JUDGE, checks={"cat": (PathCheck(1, "../x", "path"),)})
    session = ScriptedSession()
    done = await perform(session, judge, Command(("cat", "../x")))
    assert (done.verdict.reason, session.runs) == ("path-escape", [])


async def test_a_later_step_may_wait_for_a_file_that_an_earlier_one_makes() -> None:
    judge = replace(JUDGE, checks={"cat": (PathCheck(1, "new.txt", "file"),)})
    session = ScriptedSession(lambda _: exited(0))

    def make(run: Any) -> Outcome:
        session.files["new.txt"] = b""
        return exited(0)

    session._outcomes = make
    done = await perform(session, judge, plan_of("ls", "cat new.txt"))
    assert (done.denied, len(session.runs)) == (False, 2)


async def test_a_later_step_that_leaves_the_workspace_denies_the_plan_at_once() -> None:
    judge = replace(JUDGE, checks={"cat": (PathCheck(1, "../x", "path"),)})
    session = ScriptedSession(lambda _: exited(0))
    done = await perform(session, judge, plan_of("ls", "cat ../x"))
    assert (done.verdict.reason, session.runs) == ("path-escape", [])


async def test_a_denial_by_what_an_earlier_step_made_tells_what_ran() -> None:
    session = ScriptedSession(lambda _: exited(0), files={"a.py": ""})
    steps = (Pipeline((Stage(("ls",)),)), Pipeline((Stage(("cat", "*.txt"), globs=(1,)),)))
    done = await perform(session, JUDGE, Plan(steps, (";",)))
    assert (done.denied, done.verdict.reason) == (True, "plan:glob-empty")
    assert [step.outcome is not None for step in done.steps] == [True, False]
    assert done.facts()["problem"].startswith("the pattern *.txt matches no file")


async def test_a_pattern_is_judged_by_what_it_stands_for() -> None:
    judge = TableJudge(programs={"cat": "allow", "cat a.py b.py": "deny"})
    session = ScriptedSession(files={"a.py": "", "b.py": "", "c.txt": "", ".hidden.py": ""})
    stage = Stage(("cat", "*.py"), globs=(1,))
    done = await perform(session, judge, Plan((Pipeline((stage,)),)))
    assert (done.denied, session.runs) == (True, [])


async def test_names_that_begin_with_a_dash_are_no_options() -> None:
    session = ScriptedSession([exited(0)], files={"-rf": "", "a": ""})
    stage = Stage(("ls", "*"), globs=(1,))
    await perform(session, JUDGE, Plan((Pipeline((stage,)),)))
    assert argvs(session) == [("ls", "./-rf", "a")]


async def test_an_expansion_that_would_need_an_approval_is_denied() -> None:
    judge = TableJudge(programs={"cat": "allow", "cat a.py": "ask"})
    session = ScriptedSession(files={"a.py": ""})
    stage = Stage(("cat", "*.py"), globs=(1,))
    done = await perform(session, judge, Plan((Pipeline((stage,)),)))
    assert (done.denied, done.verdict.reason) == (True, "approval-unavailable")


async def test_forced_variables_stand_above_the_stages_own() -> None:
    judge = replace(JUDGE, conditions=Conditions(env=(("PAGER", "cat"),)))
    session = ScriptedSession([exited(0)])
    stage = Stage(("ls",), (("PAGER", "evil"), ("A", "1")))
    await perform(session, judge, Plan((Pipeline((stage,)),)))
    assert session.runs[0].pipeline.stages[0].env == (("PAGER", "cat"), ("A", "1"))


async def test_a_program_of_the_workspace_is_executed_by_its_own_path() -> None:
    judge = TableJudge(programs={"./run.sh": "allow"})
    session = ScriptedSession([exited(0)], files={"bin/run.sh": ""})
    done = await perform(session, judge, Command(("./run.sh",), "bin"))
    assert session.runs[0].programs == ("/workspace/bin/run.sh",)
    gone = await perform(session, judge, Command(("./run.sh",)))
    assert (done.denied, gone.denied) == (False, True)


PINNED = """
schema = 1
name = "pinned"
[program.git]
{pin}
[[rule]]
name = "git"
program = "git"
allow = ["git status"]
"""


@pytest.mark.parametrize(
    ("pin", "digest", "reason"),
    [
        (f'sha256 = "{"a" * 64}"', "a" * 64, "ok"),
        (f'sha256 = "{"a" * 64}"', "b" * 64, "program-digest"),
        (f'sha256 = "{"a" * 64}"', "", "program-digest"),
        ('paths = ["/usr/bin/git"]', "", "ok"),
        ('paths = ["/opt/git"]', "", "program-path"),
    ],
)
async def test_a_pinned_program_is_the_very_file(
    tmp_path, pin: str, digest: str, reason: str
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(PINNED.format(pin=pin))
    policy = policies.load(file)

    def answer(run: Any) -> Outcome:
        if run.pipeline.stages[0].argv[0] != "sha256sum":
            return exited(0)
        return exited(0, f"{digest}  /usr/bin/git\n") if digest else exited(1)

    session = ScriptedSession(answer)
    first = await perform(session, policy, Command(("git", "status")))
    await perform(session, policy, Command(("git", "status")))
    assert (first.verdict.reason, first.denied) == (reason, reason != "ok")
    asked = [argv for argv in argvs(session) if argv[0] == "sha256sum"]
    assert asked == ([("sha256sum", "--", "/usr/bin/git")] if "sha256" in pin else [])


async def test_a_line_that_cannot_be_read_is_a_denial_with_its_column() -> None:
    done = await perform(ScriptedSession(), JUDGE, "ls $HOME")
    assert (done.plan, done.verdict.reason) == (None, "plan:variable")
    assert done.verdict.message.startswith("column ")


async def test_verdict_question_and_answer_are_said() -> None:
    events = Events()
    seen = Recorder(events)
    approver = CallableApprover(lambda _: True)
    session = ScriptedSession([exited(0)])
    await perform(session, JUDGE, Command(("git", "push")), approver=approver, events=events)
    assert seen.types == ["tool/verdict", "approval/asked", "approval/decided"]
    assert seen.of("tool/verdict")[0].decision == "ask"


async def test_output_is_passed_on_as_it_comes() -> None:
    got: list[tuple[str, bytes]] = []

    async def take(stream: str, data: bytes) -> None:
        got.append((stream, data))

    session = ScriptedSession([exited(0, "out", "err")])
    await perform(session, JUDGE, Command(("ls",)), on_output=take)
    assert got == [("stdout", b"out"), ("stderr", b"err")]


def test_facts_leave_out_what_was_not_measured() -> None:
    from harness.action.performed import outcome_facts

    outcome = Outcome(
        Ending.KILLED_BY_LIMIT,
        limit="memory_mib",
        limits_hit=(LimitHit("memory_mib", "counter"),),
        codes=(-9,),
    )
    assert outcome_facts(outcome) == {
        "ending": "killed_by_limit",
        "limit": "memory_mib",
        "limits_hit": [{"limit": "memory_mib", "evidence": "counter"}],
        "codes": [-9],
        "wall_seconds": 0.0,
        "cpu_seconds": 0.0,
        "stdout_bytes": 0,
        "stderr_bytes": 0,
    }


async def test_a_real_policy_decides() -> None:
    policy = policies.load("python-dev")
    session = ScriptedSession(lambda _: exited(0))
    allowed = await perform(session, policy, Command(("git", "status", "-s")))
    denied = await perform(session, policy, Command(("git", "-c", "core.pager=id", "log")))
    assert (allowed.denied, denied.denied, denied.verdict.word) == (False, True, 1)
    assert denied.verdict.decision is Decision.DENY


# --- plans as JSON and as text ---------------------------------------------------------------

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
STAGES = st.builds(
    Stage,
    st.lists(WORDS, min_size=1, max_size=3).map(tuple),
    st.dictionaries(WORDS, WORDS, max_size=2).map(lambda d: tuple(d.items())),
    st.one_of(
        st.none(),
        st.builds(FromFile, WORDS),
        st.text(max_size=5).map(lambda t: FromText(t.encode("utf-8", "surrogatepass"))),
        st.just(NullDevice()),
    ),
    st.one_of(st.none(), st.builds(ToFile, WORDS, st.booleans()), st.just(NullDevice())),
    st.one_of(
        st.none(),
        st.builds(ToFile, WORDS, st.booleans()),
        st.just(NullDevice()),
        st.just(ToStdout()),
    ),
)
STEPS = st.one_of(
    st.lists(STAGES, min_size=1, max_size=3).map(lambda s: Pipeline(tuple(s))), st.builds(Cd, WORDS)
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    steps = draw(st.lists(STEPS, min_size=1, max_size=3))
    links = draw(
        st.lists(
            st.sampled_from(["&&", "||", ";"]), min_size=len(steps) - 1, max_size=len(steps) - 1
        )
    )
    return Plan(tuple(steps), tuple(links))


@given(plans())
def test_a_plan_survives_the_way_through_json(plan: Plan) -> None:
    assert plan_from_json(plan_to_json(plan)) == plan


@pytest.mark.parametrize("value", [None, [], {}, "ls", [["ls"]], [[]], [3]])
def test_what_is_no_plan_is_said(value: object) -> None:
    with pytest.raises(PlanFormError):
        plan_from_json(value)


def test_a_plan_reads_like_a_line() -> None:
    plan = Plan(
        (
            Cd("a b"),
            Pipeline(
                (
                    Stage(("grep", "it's", "*.py"), (("LC_ALL", "C"),), globs=(2,)),
                    Stage(("sort",), (), None, ToFile("out", append=True), ToStdout()),
                )
            ),
            Pipeline((Stage(("cat",), (), FromText(b"abc"), NullDevice(), ToFile("e")),)),
            Pipeline((Stage(("wc",), (), FromFile("f")),)),
        ),
        ("&&", "||", ";"),
    )
    assert plan_line(plan) == (
        "cd 'a b' && LC_ALL=C grep 'it'\"'\"'s' *.py | sort >> out 2>&1 || "
        "cat <<(3 bytes) > /dev/null 2> e ; wc < f"
    )
