from __future__ import annotations

import subprocess

import pytest

from runners.workspace import digest

MEND = [
    [("read_file", {"path": "calc.py"})],
    [("run_command", {"argv": ["python3", "-m", "pytest", "-q", "tests"]})],
    [("run_command", {"argv": ["curl", "http://localhost"]})],
    [("edit_file", {"path": "calc.py", "old": "a - b", "new": "a + b"})],
    [("run_command", {"argv": ["python3", "-m", "pytest", "-q", "tests"]})],
    [("finish", {"answer": "add adds now"})],
]


@pytest.mark.req("S-235", "S-151")
def test_a_scripted_model_mends_the_bug_and_the_result_is_verified(stockade, task, box) -> None:
    before = digest(task.workspace)
    done = stockade.run(task.path, "--runner", box, "--model", task.script(*MEND))
    assert done.code == 0, done.err
    result = done.result
    assert (result["status"], result["verdict"], result["reward"], result["answer"]) == (
        "completed",
        "passed",
        1.0,
        "add adds now",
    )
    assert result["denials"] == 1
    assert digest(task.workspace) == before
    checked = subprocess.run(
        ["git", "apply", "--check", "-p1", done.folder / "patch.diff"],
        cwd=task.workspace,
        check=False,
        env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(task.path)},
        capture_output=True,
        text=True,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_reference_solution_passes(stockade, task, each_box) -> None:
    done = stockade.run(task.path, "--runner", each_box, "--agent", "oracle")
    assert (done.code, done.result["verdict"]) == (0, "passed"), done.err


def test_nobody_at_work_does_not_pass(stockade, task, each_box) -> None:
    done = stockade.run(task.path, "--runner", each_box, "--agent", "nop")
    assert (done.code, done.result["verdict"]) == (1, "failed"), done.err


SCRIPT = """
[metadata.stockade]
workspace = "environment/workspace"
"""
TEST_SH = """\
#!/bin/bash
if python3 -m pytest -q "$STOCKADE_TESTS" -p no:cacheprovider --rootdir=/; then
  echo 1 > "$STOCKADE_LOGS/verifier/reward.txt"
else
  echo 0 > "$STOCKADE_LOGS/verifier/reward.txt"
fi
"""


@pytest.fixture
def script_task(task):
    """The same task, verified by its own script."""
    text = (task.path / "task.toml").read_text()
    task.write("task.toml", text.partition("[metadata.stockade.verify]")[0])
    task.write("tests/test.sh", TEST_SH)
    task.write("tests/test_calc.py", (task.workspace / "tests" / "test_calc.py").read_text())
    return task


@pytest.mark.parametrize(("agent", "code", "reward"), [("oracle", 0, 1.0), ("nop", 1, 0.0)])
def test_a_script_of_the_task_writes_the_reward(
    stockade, script_task, each_box, agent, code, reward
) -> None:
    done = stockade.run(script_task.path, "--runner", each_box, "--agent", agent)
    assert (done.code, done.result["reward"]) == (code, reward), done.err


def test_a_script_that_writes_no_reward_is_a_broken_verifier(
    stockade, script_task, quick_box
) -> None:
    script_task.write("tests/test.sh", "#!/bin/bash\nexit 0\n")
    done = stockade.run(script_task.path, "--runner", quick_box, "--agent", "nop")
    assert (done.code, done.result["verdict"]) == (8, "broken"), done.err


def test_the_seconds_of_a_run_include_its_verification(stockade, task, quick_box) -> None:
    done = stockade.run(task.path, "--runner", quick_box, "--agent", "nop")
    times = {e["type"]: e["t"] for e in done.events if e["type"].startswith("verify/")}
    assert done.result["seconds"] > times["verify/end"] - times["verify/start"] > 0


def test_a_bare_instruction_with_a_workspace_works_and_applies(stockade, task, quick_box) -> None:
    done = stockade(
        "run", "--instruction", "mend it", "--workspace", task.workspace, "--policy",
        stockade.policy, "--runner", quick_box, "--model", task.script(MEND[3], MEND[5]), "--apply",
    )  # fmt: skip
    assert (done.code, done.result["verdict"]) == (0, "none"), done.err
    assert (task.workspace / "calc.py").read_text() == "def add(a, b):\n    return a + b\n"


def test_a_run_that_did_not_pass_is_not_applied(stockade, task, quick_box) -> None:
    done = stockade.run(
        task.path, "--workspace", task.workspace, "--runner", quick_box, "--model",
        task.script([("write_file", {"path": "calc.py", "content": "no\n"})], []), "--apply",
    )  # fmt: skip
    assert (done.code, "nothing was written" in done.err) == (1, True), done.err
    assert (task.workspace / "calc.py").read_text() == "def add(a, b):\n    return a - b\n"
    assert b"+no" in (done.folder / "patch.diff").read_bytes()


@pytest.mark.req("S-154", "S-155")
def test_the_step_limit_ends_a_run_with_its_own_status(stockade, task, quick_box) -> None:
    steps = [[("list_dir", {"path": "."})] for _ in range(12)]
    done = stockade.run(
        task.path, "--runner", quick_box, "--model", task.script(*steps), "--max-steps", "5"
    )
    result = done.result
    assert (done.code, result["status"], result["spent"]["steps"]) == (6, "step_limit", 5)


@pytest.mark.req("S-158", "S-159", "S-143")
def test_the_tool_limit_bites_inside_a_batch(stockade, task, quick_box) -> None:
    batch = [("list_dir", {"path": "."})] * 5
    done = stockade.run(
        task.path, "--runner", quick_box, "--model", task.script(batch), "--max-tool-calls", "3"
    )
    results = [event["ok"] for event in done.events if event["type"] == "tool/result"]
    assert (done.code, done.result["status"], done.result["spent"]["tool_calls"], results) == (
        6,
        "tool_limit",
        3,
        [True, True, True, False, False],
    )


@pytest.mark.req("S-71")
def test_an_ask_that_nobody_answers_is_a_denial_and_the_run_goes_on(
    stockade, task, quick_box
) -> None:
    replies = [[("run_command", {"argv": ["python3", "--version"]})], [("finish", {})]]
    done = stockade.run(task.path, "--runner", quick_box, "--model", task.script(*replies))
    assert (done.code, done.result["status"], done.result["unanswered"]) == (5, "completed", 1)


def test_a_denial_spoils_a_pass_where_the_operator_says_so(stockade, task, quick_box) -> None:
    done = stockade.run(
        task.path, "--runner", quick_box, "--model", task.script(*MEND), "--fail-on-denial"
    )
    assert (done.code, done.result["verdict"]) == (4, "passed"), done.err


def test_a_locked_run_is_refused_when_the_policy_changed(stockade, task, quick_box) -> None:
    words = ("--runner", quick_box, "--agent", "nop")
    assert stockade.run(task.path, *words).code == 1
    stockade.policy.write_text(stockade.policy.read_text() + "\n[limits]\nwall_seconds = 50\n")
    refused = stockade.run(task.path, *words, "--locked")
    assert (refused.code, "policy.digest" in refused.err) == (2, True), refused.err


def test_a_locked_run_of_the_same_parts_runs(stockade, task, quick_box) -> None:
    words = ("--runner", quick_box, "--agent", "nop")
    stockade.run(task.path, *words)
    again = stockade.run(task.path, *words, "--locked")
    assert again.code == 1, again.err


def test_json_is_one_document_on_standard_output(stockade, task, quick_box) -> None:
    import json

    done = stockade.run(task.path, "--runner", quick_box, "--agent", "nop", "--json")
    assert json.loads(done.out) == done.result


def test_the_log_of_a_run_verifies_and_an_edit_is_found(stockade, task, quick_box) -> None:
    done = stockade.run(task.path, "--runner", quick_box, "--agent", "nop")
    head = done.result["log"]["head"]
    assert stockade("runs", "verify", "latest", "--head", head).code == 0
    log = done.folder / "events.jsonl"
    log.write_text(log.read_text().replace("e2e/calc", "e2e/calk"))
    assert stockade("runs", "verify", "latest", "--head", head).code == 1


def test_a_hostile_workspace_configures_nothing(stockade, task, quick_box) -> None:
    work = task.workspace
    for name, text in {
        "config.toml": "runner = 'none'\n",
        "stockade.toml": "policy = '/nowhere'\n",
        ".env": "STOCKADE_RUNNER=none\n",
        "policy.toml": "broken",
        ".stockade/config.toml": "runner = 'none'\n",
    }.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    done = subprocess.run(
        stockade.argv("run", task.path, "--policy", stockade.policy, "--runner", quick_box,
                      "--agent", "oracle"),
        env=stockade.environ, cwd=work, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
