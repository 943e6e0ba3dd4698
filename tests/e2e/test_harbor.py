"""Tasks that others wrote in the Harbor layout run as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import SOLUTION, TaskFolder

STEPS = """
schema_version = "1.4"
{strategy}
[environment]
network_mode = "no-network"
[metadata.stockade]
workspace = "environment/workspace"
[[steps]]
name = "sum"
min_reward = 1.0
[[steps]]
name = "product"
"""
SUM = 'python3 -c "from calc import add; assert add(2, 2) == 4" && echo 1 || echo 0'
PRODUCT = 'python3 -c "from calc import mul; assert mul(2, 3) == 6" && echo 1 || echo 0'


def test_script(line: str) -> str:
    return f"#!/bin/bash\n({line}) > $STOCKADE_LOGS/verifier/reward.txt 2>/dev/null\n"


test_script.__test__ = False  # type: ignore[attr-defined]


@pytest.fixture
def steps(tmp_path: Path) -> TaskFolder:
    """A task of two steps: mend the sum, then add a product to the same file."""
    task = TaskFolder(tmp_path / "steps")
    (task.path / "instruction.md").unlink()
    task.write("task.toml", STEPS.format(strategy=""))
    for name, line, solve in (
        ("sum", SUM, SOLUTION),
        ("product", PRODUCT, "#!/bin/bash\ncat more.py >> calc.py\n"),
    ):
        task.write(f"steps/{name}/instruction.md", f"Mend the {name}.\n")
        task.write(f"steps/{name}/tests/test.sh", test_script(line))
        task.write(f"steps/{name}/solution/solve.sh", solve)
    task.write("steps/product/workdir/more.py", "\n\ndef mul(a, b):\n    return a * b\n")
    task.write("steps/product/workdir/setup.sh", "#!/bin/bash\ntest -f more.py\n")
    return task


def run(stockade: Any, task: TaskFolder, box: str, *words: str) -> Any:
    return stockade.run(task.path, "--runner", box, *words)


def test_steps_are_worked_on_in_one_box_and_verified_one_by_one(
    stockade: Any, steps: TaskFolder, quick_box: str
) -> None:
    done = run(stockade, steps, quick_box, "--agent", "oracle")
    found = [(step["name"], step["verdict"]) for step in done.result["steps"]]
    assert (done.code, found, done.result["reward"]) == (
        0,
        [("sum", "passed"), ("product", "passed")],
        1.0,
    )
    patch = (done.folder / "patch.diff").read_text()
    assert ("return a + b" in patch, "def mul" in patch) == (True, True)


def test_a_step_below_its_bar_ends_the_task(
    stockade: Any, steps: TaskFolder, quick_box: str
) -> None:
    done = run(stockade, steps, quick_box, "--agent", "nop")
    assert (done.code, [step["name"] for step in done.result["steps"]]) == (1, ["sum"])


@pytest.mark.slow
def test_the_reward_of_steps_is_their_mean_or_the_last(
    stockade: Any, steps: TaskFolder, quick_box: str
) -> None:
    steps.write("steps/sum/tests/test.sh", test_script("echo 0"))
    text = STEPS.replace("min_reward = 1.0\n", "")
    steps.write("task.toml", text.format(strategy='multi_step_reward_strategy = "final"'))
    last = run(stockade, steps, quick_box, "--agent", "oracle", "--json")
    steps.write("task.toml", text.format(strategy='multi_step_reward_strategy = "mean"'))
    mean = run(stockade, steps, quick_box, "--agent", "oracle", "--json")
    found = [(done.code, json.loads(done.out)["reward"]) for done in (last, mean)]
    assert found == [(0, 1.0), (1, 0.5)]


def test_each_step_of_a_model_is_a_conversation_of_its_own(
    stockade: Any, steps: TaskFolder, quick_box: str
) -> None:
    edit = {"path": "calc.py", "old": "a - b", "new": "a + b"}
    add = {"path": "calc.py", "content": "def add(a, b):\n    return a + b\n"
                                         "def mul(a, b):\n    return a * b\n"}  # fmt: skip
    script = steps.script(
        [("edit_file", edit)], [("finish", {})], [("write_file", add)], [("finish", {})]
    )
    done = run(stockade, steps, quick_box, "--model", script)
    assert (done.code, done.result["spent"]["tool_calls"]) == (0, 4)


@pytest.mark.slow
def test_a_health_check_holds_the_agent_back_and_fails_the_box(
    stockade: Any, task: TaskFolder, quick_box: str
) -> None:
    base = (task.path / "task.toml").read_text()
    health = '[environment.healthcheck]\ncommand = "{}"\ninterval_sec = 0.1\nretries = 3\n'
    try_thrice = "echo x >> $TMPDIR/n; test $(wc -l < $TMPDIR/n) -ge 3"
    task.write("task.toml", base + health.format(try_thrice))
    well = run(stockade, task, quick_box, "--agent", "oracle", "--json")
    task.write("task.toml", base + health.format("false"))
    ill = run(stockade, task, quick_box, "--agent", "oracle", "--json")
    assert (well.code, ill.code) == (0, 3)
    assert "health check failed 3 times" in json.loads(ill.out)["error"]


def test_what_a_task_wants_kept_is_kept_and_listed(
    stockade: Any, task: TaskFolder, quick_box: str
) -> None:
    base = (task.path / "task.toml").read_text()
    head = (
        'artifacts = ["calc.py", {source = "made", destination = "m", exclude = ["*.tmp"]}, "no"]\n'
    )
    collect = '[[verifier.collect]]\ncommand = "echo late > made/late.txt"\n'
    task.write("task.toml", head + base + collect)
    solve = "mkdir made; echo a > made/a.txt; echo b > made/b.tmp\n"
    publish = 'mkdir -p "$STOCKADE_LOGS/artifacts"; echo p > "$STOCKADE_LOGS/artifacts/p.txt"\n'
    task.write("solution/solve.sh", SOLUTION + solve + publish)
    done = run(stockade, task, quick_box, "--agent", "oracle")
    kept = done.folder / "kept"
    rows = {
        row["source"]: row["status"] for row in json.loads((kept / "manifest.json").read_text())
    }
    files = sorted(str(p.relative_to(kept)) for p in kept.rglob("*") if p.is_file())
    assert files == ["calc.py", "logs/artifacts/p.txt", "m/a.txt", "m/late.txt", "manifest.json"]
    assert rows == {
        "calc.py": "kept",
        "made": "kept",
        "no": "is not there",
        "/logs/artifacts": "kept",
    }


def test_the_verifier_finds_what_the_agents_box_published(
    stockade: Any, task: TaskFolder, quick_box: str
) -> None:
    text = (task.path / "task.toml").read_text()
    task.write("task.toml", text[: text.index("[metadata.stockade.verify]")])
    publish = 'mkdir -p "$STOCKADE_LOGS/artifacts"; echo 1 > "$STOCKADE_LOGS/artifacts/r"\n'
    task.write("solution/solve.sh", "#!/bin/bash\n" + publish)
    task.write(
        "tests/test.sh",
        '#!/bin/bash\ncp "$STOCKADE_LOGS/artifacts/r" "$STOCKADE_LOGS/verifier/reward.txt"\n',
    )
    assert run(stockade, task, quick_box, "--agent", "oracle").code == 0


@pytest.mark.slow
def test_a_task_of_terminal_bench_runs(stockade: Any, tmp_path: Path, quick_box: str) -> None:
    task = TaskFolder(tmp_path / "tb")
    for path in ("task.toml", "instruction.md", "solution/solve.sh"):
        (task.path / path).unlink()
    task.write("task.yaml", "instruction: |-\n  Write hello.\nparser_name: pytest\n")
    task.write("solution.sh", "#!/bin/bash\necho hello > hello.txt\n")
    task.write("run-tests.sh", "#!/bin/bash\npython3 $TEST_DIR/check.py\n")
    task.write("tests/check.py", "assert open('hello.txt').read() == 'hello\\n'\n")
    codes = [run(stockade, task, quick_box, "--agent", agent).code for agent in ("oracle", "nop")]
    assert codes == [0, 1]


@pytest.mark.docker
@pytest.mark.slow
def test_a_dockerfile_is_built_once_and_its_files_are_the_workspace(
    stockade: Any, tmp_path: Path
) -> None:
    task = TaskFolder(tmp_path / "built")
    task.write("task.toml", '[environment]\nnetwork_mode = "no-network"\n')
    task.write(
        "environment/Dockerfile",
        "FROM python:3.12-slim\nWORKDIR /srv/work\nCOPY workspace/ .\nRUN echo built > made.txt\n",
    )
    task.write("tests/test.sh", test_script("cd /srv/work && grep -q built made.txt && " + SUM))
    config = tmp_path / "config" / "stockade" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[images]\nnetwork = "none"\nmap = {"python:3.12-slim" = "python"}\n')
    words = ("--runner", "docker", "--agent", "oracle", "--json")
    first, second = (stockade.run(task.path, *words) for _ in range(2))
    try:
        assert [done.code for done in (first, second)] == [0, 0], first.err
        assert ["building the image" in done.err for done in (first, second)] == [True, False]
    finally:
        import sandbox_images

        for image in sandbox_images.list_images():
            if image.name.startswith("task-") and image.name in first.err:
                sandbox_images.remove(image.name)


@pytest.mark.slow
def test_a_separate_verifier_has_an_environment_of_its_own(
    stockade: Any, task: TaskFolder, quick_box: str
) -> None:
    text = (task.path / "task.toml").read_text()
    text = text[: text.index("[metadata.stockade.verify]")]
    own = (
        '[verifier]\nenvironment_mode = "separate"\n[verifier.environment]\nenv = {WHO = "judge"}\n'
    )
    task.write("task.toml", text + own + '[environment.env]\nWHO = "agent"\n')
    task.write("solution/solve.sh", '#!/bin/bash\necho "$WHO" > who.txt\n')
    task.write("tests/test.sh", test_script('test "$(cat who.txt) $WHO" = "agent judge" && echo 1'))
    assert run(stockade, task, quick_box, "--agent", "oracle").code == 0


@pytest.mark.docker
@pytest.mark.slow
def test_the_workspace_of_a_docker_image_is_its_working_folder(
    stockade: Any, tmp_path: Path
) -> None:
    import docker

    import sandbox_images

    image = sandbox_images.find("python")
    assert image is not None
    context = tmp_path / "context"
    context.mkdir()
    (context / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (context / "Dockerfile").write_text(
        f"FROM {image.docker_tag}\nWORKDIR /srv/app\nCOPY calc.py .\n"
    )
    client = docker.from_env()
    tag = "stockade-test/app:1"
    client.images.build(path=str(context), tag=tag, network_mode="none", rm=True, forcerm=True)
    try:
        task = TaskFolder(tmp_path / "pulled")
        box = f'network_mode = "no-network"\ndocker_image = "{tag}"\nworkdir = "/srv/app"\n'
        task.write("task.toml", f"[environment]\n{box}")
        task.write("tests/test.sh", test_script(SUM))
        codes = [
            stockade.run(task.path, "--runner", "docker", "--agent", agent).code
            for agent in ("oracle", "nop")
        ]
        assert codes == [0, 1]
    finally:
        client.images.remove(tag)
        client.close()
