"""The models of ``task.toml``: Harbor's schema 1.4, its old names, and our own table in it."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from harness.task.artifact import MAIN, Artifact, Service
from harness.task.environment import EnvironmentTable, HealthcheckTable
from harness.task.hosts import NetworkTable
from harness.task.table import Name, Seconds, Strict, Table, fault

__all__ = [
    "AgentTable",
    "EnvironmentTable",
    "StepTable",
    "StockadeTable",
    "TaskFile",
    "VerifierTable",
    "VerifyTable",
]

VERSION = "1.4"
"""The newest schema that is known here."""

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$"
NOT_PORTABLE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]|[. ]$')
DEVICE = re.compile(r"(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?", re.IGNORECASE)


class Author(Table):
    """Who wrote the task."""

    name: str
    email: str | None = None


class TaskTable(Table):
    """``[task]``: what the task is called."""

    name: Annotated[str, Field(pattern=NAME)]
    version: Name | None = None
    description: str = ""
    authors: list[Author] = Field(default_factory=list)
    keywords: list[str] = Field(default_factory=list)


class AgentTable(NetworkTable):
    """``[agent]``: who works on the task, and for how long."""

    timeout_sec: Seconds | None = None
    user: str | int | None = None


class CollectTable(Table):
    """``[[verifier.collect]]``: a command that leaves something to be kept."""

    command: Name
    service: Service = MAIN
    timeout_sec: Seconds = 60.0
    user: str | int | None = None


class VerifierTable(NetworkTable):
    """``[verifier]``: how the task's own tests run."""

    timeout_sec: Seconds = 600.0
    env: dict[str, str] = Field(default_factory=dict)
    user: str | int | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: EnvironmentTable | None = None
    collect: list[CollectTable] = Field(default_factory=list)

    @model_validator(mode="after")
    def one_place(self) -> VerifierTable:
        """A shared verifier has no environment of its own."""
        if self.environment_mode == "shared" and self.environment is not None:
            fix = 'remove it, or write environment_mode = "separate"'
            raise fault("has no place in a shared verifier", fix, "environment")
        return self


class SolutionTable(Table):
    """``[solution]``: what the reference solution is told."""

    env: dict[str, str] = Field(default_factory=dict)


def folder_name(text: str) -> str:
    """The name of a step: one folder below ``steps/`` on every system."""
    if not text.strip() or text in {".", ".."} or NOT_PORTABLE.search(text):
        raise fault("cannot be the name of one folder", "write a plain name")
    if DEVICE.fullmatch(text) or len(text.encode()) > 255:
        raise fault("cannot be the name of a folder everywhere", "write a plain name")
    return text


class StepTable(Table):
    """``[[steps]]``: one part of a task, with an instruction and tests of its own."""

    name: Annotated[str, AfterValidator(folder_name)]
    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    min_reward: float | dict[str, float] | None = None
    healthcheck: HealthcheckTable | None = None
    artifacts: list[Artifact] = Field(default_factory=list)


def relative(text: str) -> str:
    """A path that stays inside the task folder, by its text."""
    if text.startswith("/") or ".." in text.split("/"):
        raise fault("is no path inside the task folder", "write a relative path without ..")
    return text


Inside = Annotated[str, Field(min_length=1), AfterValidator(relative)]


class VerifyTable(Strict):
    """``[metadata.stockade.verify]``: a command, its code, and tests that must pass."""

    argv: Annotated[list[Name], Field(min_length=1)]
    exit: Annotated[int, Field(ge=0, le=255)] = 0
    tests: list[Annotated[str, Field(pattern=r"^[^:]+\.py::.+$")]] = Field(default_factory=list)


class StockadeTable(Strict):
    """``[metadata.stockade]``: our own settings (decision 34)."""

    policy: Name | None = None
    image: Name | None = None
    workspace: Inside | None = None
    script: Inside | None = None
    left_out: bool | list[Name] = False
    verify: VerifyTable | None = None


class MetadataTable(Table):
    """``[metadata]``: free-form, but for our own table."""

    stockade: StockadeTable = StockadeTable()


def known_version(value: Any) -> Any:  # noqa: ANN401 - what a TOML file holds
    """A schema that can be read; a newer one of the same line is read as far as it is known."""
    if isinstance(value, str) and not re.fullmatch(r"1(\.\d+){0,2}", value):
        raise fault("is not a schema that is known", f'write "{VERSION}"')
    return value


class TaskFile(Table):
    """The whole of ``task.toml``."""

    schema_version: Annotated[str, BeforeValidator(known_version)] = VERSION
    source: str | None = None
    task: TaskTable | None = None
    metadata: MetadataTable = MetadataTable()
    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    environment: EnvironmentTable = EnvironmentTable()
    solution: SolutionTable = SolutionTable()
    artifacts: list[Artifact] = Field(default_factory=list)
    steps: list[StepTable] | None = None
    multi_step_reward_strategy: Literal["mean", "final"] | None = None

    @model_validator(mode="before")
    @classmethod
    def old_version(cls, data: Any) -> Any:  # noqa: ANN401 - what a TOML file holds
        """``version`` is the old name of ``schema_version``."""
        if isinstance(data, dict) and "version" in data:
            data = {"schema_version": data["version"], **data}
            del data["version"]
        return data

    @model_validator(mode="after")
    def steps_have_names_of_their_own(self) -> TaskFile:
        """Two steps of one name would share a folder."""
        seen: set[str] = set()
        for step in self.steps or []:
            key = unicodedata.normalize("NFC", step.name).casefold()
            if key in seen:
                raise fault(f"names {step.name!r} twice", "give each a name of its own", "steps")
            seen.add(key)
        return self
