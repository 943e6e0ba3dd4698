"""A task with every field of Harbor's schema is read; each field broken is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.task import Healthcheck, Kept, TaskError, load_task
from tests.harness.task.fields import BROKEN, FULL, STRICTER, broken, shown, write_task

HARBOR = "harbor==0.26.0"


def test_a_task_with_every_field_is_read(tmp_path: Path) -> None:
    task = load_task(write_task(tmp_path, FULL), environ={})
    first, second = task.steps
    assert (task.docker_image, task.workdir, task.env) == (
        "python:3.11-slim",
        "/app",
        (("PLAIN", "x"), ("GIVEN", "default")),
    )
    assert task.healthcheck == Healthcheck("true", 1.0, 5.0, 0.0, 1.0, 3)
    assert first.kept == (
        Kept("/app/log.txt", "app/log.txt"),
        *[Kept("/app/out", "kept/out", ("*.tmp",))] * 2,
    )
    assert (first.gate, second.gate) == (
        (("reward", 0.5),),
        (("reward", 1.0), ("style", 0.25)),
    )
    assert first.check is not None
    assert first.check.place is not None
    assert first.check.place.docker_image == "python:3.11-slim"


@pytest.mark.parametrize(("key", "value"), [*BROKEN, *STRICTER], ids=lambda v: str(v)[:40])
def test_a_broken_field_is_named_with_its_file_and_a_fix(
    tmp_path: Path, key: str, value: Any
) -> None:
    with pytest.raises(TaskError) as caught:
        load_task(write_task(tmp_path, broken(key, value)), environ={})
    found = caught.value.problems
    named = [p for p in found if p.file == "task.toml" and names(p.key, shown(key))]
    assert named, [str(p) for p in found]
    assert all(p.fix and p.message for p in found)


def names(found: str, key: str) -> bool:
    """Whether a problem is about this key, or about what stands below it."""
    about_mode = key.endswith("environment_mode") and found == key.removesuffix("_mode")
    about_name = found == "steps" and key == "steps[1].name"
    return found == key or found.startswith((f"{key}.", f"{key}[")) or about_mode or about_name


@pytest.mark.network
def test_harbors_own_models_agree_on_what_is_valid(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
    argv = [*pip, "--python-version", "3.12", "-d", str(tmp_path), HARBOR]
    subprocess.run(argv, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    code = (
        "import json, sys, types, typing, warnings\n"
        "sys.path.insert(0, sys.argv[1]); warnings.simplefilter('ignore')\n"
        "sys.modules['toml'] = types.ModuleType('toml')\n"
        "typing.override = lambda f: f\n"
        "from harbor.models.task.config import TaskConfig\n"
        "def valid(file):\n"
        "    try: TaskConfig.model_validate(file)\n"
        "    except ValueError: return False\n"
        "    return True\n"
        "print(json.dumps([valid(f) for f in json.load(sys.stdin)]))"
    )
    files = [FULL, *[broken(key, value) for key, value in BROKEN]]
    argv = [sys.executable, "-c", code, str(wheel)]
    done = subprocess.run(
        argv, input=json.dumps(files), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    verdicts = json.loads(done.stdout)
    wrong = [case for case, valid in zip(BROKEN, verdicts[1:], strict=True) if valid]
    assert (verdicts[0], wrong) == (True, [])
