"""Reads a task in the first layout of Terminal-Bench: ``task.yaml``, scripts at the top."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError

from harness.task.below import TaskFiles, read_below
from harness.task.error import Problem
from harness.task.place import workdir_of
from harness.task.problem import nul_problems, problems_of
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


def read_terminal_bench(files: TaskFiles) -> Task:
    """The task; what is wrong with it is added to the problems."""
    folder, problems = files.folder, files.problems
    task = Task(name=folder.resolve().name, instruction="", folder=folder)
    file = read(files)
    run_tests = files.file("run-tests.sh")
    if run_tests is None:
        files.note("run-tests.sh", "is missing", "add it")
    services(files)
    if file is None:
        return task
    if file.run_tests_in_same_shell:
        fix = "write false; the tests run in a box of their own"
        fault = "the agent's shell does not outlive its box"
        problems.append(Problem(FILE, "run_tests_in_same_shell", fault, fix))
    warnings = [SILENT]
    solve = files.file("solution.sh")
    if solve is None and files.file("solution.yaml"):
        warnings.append("solution.yaml: keys for a terminal are not sent; --agent oracle needs a"
                        " solution.sh")  # fmt: skip
    dockerfile = files.file("Dockerfile")
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
        tests=files.subfolder("tests"),
        solve=solve,
        check=check,
        workdir=workdir_of(files, "Dockerfile") or "/app",
        agent_seconds=file.max_agent_timeout_sec,
        warnings=tuple(warnings),
    )


def read(files: TaskFiles) -> TerminalBenchFile | None:
    """``task.yaml``, or None with its problems noted."""
    import yaml

    text = files.text(FILE)
    if text is None:
        return None
    try:
        found: Any = yaml.safe_load(text)
        files.problems.extend(nul_problems(found, FILE))
        return TerminalBenchFile.model_validate(found)
    except ValidationError as error:
        files.problems.extend(problems_of(error, FILE))
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        files.note(FILE, f"is not YAML{line}", "correct that line")
    except RecursionError:
        files.note(FILE, "is nested too deeply", "write it flatter")
    except ValueError as error:
        files.note(FILE, f"is not YAML: {error}", "correct that value")
    return None


def services(files: TaskFiles) -> None:
    """A compose file of one service is the usual frame of this layout; of more, it is refused."""
    import yaml

    for name in COMPOSE:
        try:
            said = yaml.safe_load(read_below(files.folder, name))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, yaml.YAMLError, RecursionError):
            files.note(name, "cannot be read", "correct it, or remove it")
            continue
        table = said.get("services") if isinstance(said, dict) else None
        more = sorted(set(map(str, table)) - {"client"}) if isinstance(table, dict) else []
        if more:
            fault = f"there is one box; no service {', '.join(more)}"
            files.problems.append(Problem(name, "services", fault, "use one image"))
