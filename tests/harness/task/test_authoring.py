"""What is said of a task before it is run: lint, needs, a start that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config import Config, Images
from harness.errors import ConfigError
from harness.task import load_task
from harness.task.authoring import CODES, lint_task, needs_of, write_task

TEXT = "def test_a_thing_that_is_long_enough():\n    assert 1 + 1 == 2\n"
TASK = """\
schema_version = "1.4"
[environment]
network_mode = "no-network"
docker_image = "python@sha256:0"
{more}
[metadata.stockade.verify]
argv = ["true"]
"""

Files = dict[str, str]

BAD: dict[str, Files] = {
    "leaked-tests": {"environment/workspace/tests/test_it.py": TEXT, "tests/test_it.py": TEXT},
    "leaked-solution": {"environment/hint.sh": TEXT, "solution/solve.sh": TEXT},
    "no-solution": {"solution/solve.sh": ""},
    "unpinned-image": {"environment/Dockerfile": "FROM python\nUSER 1000\n"},
    "no-digest": {"environment/Dockerfile": "FROM python:3.12\nUSER 1000\n"},
    "unpinned-package": {
        "environment/Dockerfile": "FROM a@sha256:0\nRUN pip install -q pytest && true\nUSER 1\n"
    },
    "root": {"environment/Dockerfile": "FROM a@sha256:0\nUSER 1000\nUSER root\n"},
    "mount": {"environment/Dockerfile": "FROM a@sha256:0\nVOLUME /data\nUSER 1000\n"},
    "network-unsaid": {"task.toml": TASK.replace('network_mode = "no-network"\n', "")},
    "network-used": {"tests/test.sh": "#!/bin/bash\ncurl -s http://example.org\n"},
    "literal-secret": {
        "task.toml": TASK.replace("{more}", '[environment.env]\nMY_API_KEY = "abc"')
    },
    "weak-verifier": {"task.toml": TASK[: TASK.index("[metadata")]},
}
CLEAN: dict[str, Files] = {
    "leaked-tests": {
        "environment/workspace/tests/test_it.py": TEXT + "#",
        "tests/test_it.py": TEXT,
    },
    "leaked-solution": {"environment/hint.sh": TEXT + "#", "solution/solve.sh": TEXT},
    "no-solution": {},
    "unpinned-image": {"environment/Dockerfile": "FROM python:3.12\nUSER 1000\n"},
    "no-digest": {"environment/Dockerfile": "FROM python:3.12@sha256:0\nUSER 1000\n"},
    "unpinned-package": {
        "environment/Dockerfile": "FROM a@sha256:0\nRUN pip install -q pytest==8 && true\nUSER 1\n"
    },
    "root": {"environment/Dockerfile": "FROM a@sha256:0\nUSER root\nUSER 1000\n"},
    "mount": {"environment/Dockerfile": "FROM a@sha256:0\nWORKDIR /data\nUSER 1000\n"},
    "network-unsaid": {},
    "network-used": {"tests/test.sh": "#!/bin/bash\ngrep curl x  # curl is not used\n"},
    "literal-secret": {
        "task.toml": TASK.replace("{more}", '[environment.env]\nMY_API_KEY = "${MY_API_KEY}"')
    },
    "weak-verifier": {},
}
CLEAN["network-used"] = {"tests/test.sh": "#!/bin/bash\ncat x  # not with curl\n"}


def made(folder: Path, files: Files) -> Path:
    base = {"task.toml": TASK, "instruction.md": "Mend it.\n", "solution/solve.sh": "true\n"}
    for name, text in {**base, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{more}", ""))
        if not text:
            path.unlink()
    return folder


def test_every_code_has_a_bad_fixture_and_a_clean_twin() -> None:
    assert (set(BAD), set(CLEAN)) == (set(CODES), set(CODES))


@pytest.mark.parametrize("code", CODES)
def test_what_is_unwise_is_found_by_its_code(tmp_path: Path, code: str) -> None:
    assert [one.code for one in lint_task(made(tmp_path, BAD[code]))] == [code]


@pytest.mark.parametrize("code", CODES)
def test_its_clean_twin_has_no_such_finding(tmp_path: Path, code: str) -> None:
    assert code not in [one.code for one in lint_task(made(tmp_path, CLEAN[code]))]


def test_a_finding_names_file_line_and_fix(tmp_path: Path) -> None:
    (found,) = lint_task(made(tmp_path, BAD["mount"]))
    assert str(found) == ("environment/Dockerfile:2: warning: declares a volume; remove it [mount]")


def test_a_written_task_is_valid_and_has_nothing_but_a_note(tmp_path: Path) -> None:
    write_task(tmp_path / "new", "org/new")
    task = load_task(tmp_path / "new")
    levels = {one.level for one in lint_task(tmp_path / "new")}
    assert (task.name, task.warnings, levels) == ("org/new", (), {"note"})


@pytest.mark.parametrize("name", ["new", "a b/c", "/x"])
def test_a_name_without_organisation_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="no name of a task"):
        write_task(tmp_path / "new", name)


def test_a_folder_that_holds_something_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not empty"):
        write_task(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_docker_image_that_is_not_here_is_lacking_with_a_cure(tmp_path: Path) -> None:
    text = TASK.replace("python@sha256:0", "no-such-image:1").replace(
        "{more}", "memory_mb = 999999"
    )
    task = load_task(made(tmp_path, {"task.toml": text}))
    lacking = {need.what: need.cure for need in needs_of(task, Config()) if need.lacking}
    assert list(lacking) == ["Docker image no-such-image:1", "999999 MiB of memory"]
    assert (
        '[images] map = {"no-such-image:1" = "python"}' in lacking["Docker image no-such-image:1"]
    )


def test_the_operators_map_stands_for_an_image_that_is_not_here(tmp_path: Path) -> None:
    text = TASK.replace("python@sha256:0", "no-such-image:1")
    task = load_task(made(tmp_path, {"task.toml": text}))
    config = Config(images=Images({"no-such-image:1": "another-one"}))
    (need,) = needs_of(task, config)
    assert (need.what, need.cure) == ("image another-one", "stockade images build another-one")
