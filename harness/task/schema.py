"""The models of ``task.toml``: Harbor's schema 1.4, its old names, and our own table in it."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "AgentTable",
    "EnvironmentTable",
    "StockadeTable",
    "TaskFile",
    "VerifierTable",
    "VerifyTable",
]

NetworkMode = Literal["no-network", "public", "allowlist"]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(gt=0)]
Name = Annotated[str, Field(min_length=1)]


class Table(BaseModel):
    """A table whose unknown keys are kept aside, to be warned of: Harbor's schema grows."""

    model_config = ConfigDict(extra="allow", strict=True)


class Author(Table):
    """Who wrote the task."""

    name: str
    email: str | None = None


class TaskTable(Table):
    """``[task]``: what the task is called."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$")] | None = None
    version: str | None = None
    description: str = ""
    authors: list[Author] = []
    keywords: list[str] = []


class AgentTable(Table):
    """``[agent]``: who works on the task, and for how long."""

    timeout_sec: Seconds | None = None
    user: str | int | None = None
    network_mode: NetworkMode | None = None
    allowed_hosts: list[str] = []


class VerifierTable(Table):
    """``[verifier]``: how the task's own tests run."""

    timeout_sec: Seconds = 600.0
    env: dict[str, str] = {}
    user: str | int | None = None
    network_mode: NetworkMode | None = None
    allowed_hosts: list[str] = []
    environment_mode: Literal["shared", "separate"] | None = None
    environment: dict[str, Any] | None = None
    collect: list[dict[str, Any]] = []


class SolutionTable(Table):
    """``[solution]``: what the reference solution is told."""

    env: dict[str, str] = {}


SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*$", re.IGNORECASE)
UNIT_MIB = {"": 1 / (1 << 20), "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0 * 1024}


def size(text: str) -> str:
    """A text in the old form of a size."""
    if SIZE.match(text) is None:
        raise ValueError("must be a size such as 512M or 4G")
    return text


def mebibytes(text: str) -> int:
    """The old form of a size in MiB, rounded up."""
    match = SIZE.match(text)
    assert match is not None
    return max(1, math.ceil(float(match[1]) * UNIT_MIB[match[2].upper()]))


class EnvironmentTable(Table):
    """``[environment]``: the box that the task asks for."""

    build_timeout_sec: Seconds = 600.0
    docker_image: Name | None = None
    os: Literal["linux", "windows"] = "linux"
    cpus: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    memory_mb: Whole | None = None
    storage_mb: Whole | None = None
    gpus: Annotated[int, Field(ge=0)] = 0
    gpu_types: list[str] | None = None
    tpu: dict[str, str] | None = None
    env: dict[str, str] = {}
    workdir: Annotated[str, Field(pattern=r"^/")] | None = None
    skills_dir: str | None = None
    network_mode: NetworkMode | None = None
    allowed_hosts: list[str] = []
    mcp_servers: list[dict[str, Any]] = []
    healthcheck: dict[str, Any] | None = None

    memory: Annotated[str, AfterValidator(size)] | None = None
    storage: Annotated[str, AfterValidator(size)] | None = None
    allow_internet: bool | None = None

    @model_validator(mode="after")
    def old_names(self) -> EnvironmentTable:
        """``memory``, ``storage`` and ``allow_internet`` are old names; new ones win."""
        if self.memory is not None and self.memory_mb is None:
            self.memory_mb = mebibytes(self.memory)
        if self.storage is not None and self.storage_mb is None:
            self.storage_mb = mebibytes(self.storage)
        if self.allow_internet is not None and self.network_mode is None:
            self.network_mode = "public" if self.allow_internet else "no-network"
        return self


def relative(text: str) -> str:
    """A path that stays inside the task folder, by its text."""
    if text.startswith("/") or ".." in text.split("/"):
        raise ValueError("must be a relative path inside the task folder")
    return text


Inside = Annotated[str, Field(min_length=1), AfterValidator(relative)]


class Strict(BaseModel):
    """A table of our own: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", strict=True)


class VerifyTable(Strict):
    """``[metadata.stockade.verify]``: a command, its code, and tests that must pass."""

    argv: Annotated[list[Name], Field(min_length=1)]
    exit: Annotated[int, Field(ge=0, le=255)] = 0
    tests: list[Annotated[str, Field(pattern=r"^[^:]+\.py::.+$")]] = []


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


class TaskFile(Table):
    """The whole of ``task.toml``."""

    schema_version: str
    source: str | None = None
    task: TaskTable | None = None
    metadata: MetadataTable = MetadataTable()
    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    environment: EnvironmentTable = EnvironmentTable()
    solution: SolutionTable = SolutionTable()
    artifacts: list[str | dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    multi_step_reward_strategy: Literal["mean", "final"] | None = None

    @model_validator(mode="before")
    @classmethod
    def old_version(cls, data: Any) -> Any:  # noqa: ANN401 - what a TOML file holds
        """``version`` is the old name of ``schema_version``."""
        if isinstance(data, dict) and "version" in data and "schema_version" not in data:
            data = {**data, "schema_version": data["version"]}
            del data["version"]
        return data
