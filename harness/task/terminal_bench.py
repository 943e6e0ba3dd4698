"""Reads a task in the first layout of Terminal-Bench: ``task.yaml``, scripts at the top."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from harness.task.error import Problem
from harness.task.place import existing_file, workdir_of
from harness.task.problem import problems_of
from harness.task.table import Name, Seconds, Table
from harness.task.task import Check, Task

__all__ = ["read_terminal_bench"]

FILE = "task.yaml"
COMPOSE = ("docker-compose.yaml", "docker-compose.yml")
SILENT = "task.yaml: this format has a network; this run has none"


class TerminalBenchFile(Table):
    """The keys of ``task.yaml`` that say what to do; the others are for people."""

    instruction: Name
    max_agent_timeout_sec: Seconds = 360.0
    max_test_timeout_sec: Seconds = 60.0
    parser_name: str = "pytest"
    author_name: str | None = None
    author_email: str | None = None
    difficulty: str | None = None
    category: str | None = None
    tags: Annotated[list[str], Field(default_factory=list)]
    run_tests_in_same_shell: bool = False


def read_terminal_bench(folder: Path, problems: list[Problem]) -> Task:
    """The task; what is wrong with it is added to the problems."""
    task = Task(name=folder.resolve().name, instruction="", folder=folder)
    file = read(folder, problems)
    run_tests = existing_file(folder / "run-tests.sh")
    if run_tests is None:
        problems.append(Problem("run-tests.sh", "", "is missing", "add it"))
    problems += services(folder)
    if file is None:
        return task
    if file.run_tests_in_same_shell:
        fix = "write false; the tests run in a box of their own"
        fault = "the agent's shell does not outlive its box"
        problems.append(Problem(FILE, "run_tests_in_same_shell", fault, fix))
    warnings = [SILENT]
    solve = existing_file(folder / "solution.sh")
    if solve is None and (folder / "solution.yaml").is_file():
        warnings.append("solution.yaml: keys for a terminal are not sent; --agent oracle needs a"
                        " solution.sh")  # fmt: skip
    dockerfile = existing_file(folder / "Dockerfile")
    check = Check(
        argv=("bash", "$STOCKADE_TESTS/run-tests.sh"),
        seconds=file.max_test_timeout_sec,
        env=(("TEST_DIR", "$STOCKADE_TESTS"),),
        beside=(run_tests,) if run_tests else (),
    )
    return Task(
        name=task.name,
        instruction=file.instruction,
        folder=folder,
        dockerfile=dockerfile,
        tests=(folder / "tests") if (folder / "tests").is_dir() else None,
        solve=solve,
        check=check,
        workdir=workdir_of(dockerfile) or "/app",
        agent_seconds=file.max_agent_timeout_sec,
        warnings=tuple(warnings),
    )


def read(folder: Path, problems: list[Problem]) -> TerminalBenchFile | None:
    """``task.yaml``, or None with its problems noted."""
    import yaml

    try:
        found: Any = yaml.safe_load((folder / FILE).read_text(encoding="utf-8"))
        return TerminalBenchFile.model_validate(found)
    except ValidationError as error:
        problems += problems_of(error, FILE)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        problems.append(Problem(FILE, "", f"is not YAML{line}", "correct that line"))
    except (OSError, UnicodeDecodeError, RecursionError):
        problems.append(Problem(FILE, "", "cannot be read as UTF-8", "save it as UTF-8"))
    return None


def services(folder: Path) -> list[Problem]:
    """A compose file of one service is the usual frame of this layout; of more, it is refused."""
    import yaml

    found = []
    for name in COMPOSE:
        try:
            said = yaml.safe_load((folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError):
            found.append(Problem(name, "", "cannot be read", "correct it, or remove it"))
            continue
        more = sorted(set((said or {}).get("services") or {}) - {"client"})
        if more:
            fault = f"there is one box; no service {', '.join(map(str, more))}"
            found.append(Problem(name, "services", fault, "use one image"))
    return found
