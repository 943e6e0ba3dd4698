"""The models of ``[environment]`` and of what stands below it."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from harness.task.hosts import NetworkTable
from harness.task.table import Name, Seconds, Table, Whole, fault

__all__ = ["EnvironmentTable", "HealthcheckTable"]

SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)([KMG])\s*", re.IGNORECASE)
MIB = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}
TOPOLOGY = r"^[1-9]\d*(x[1-9]\d*)+$"
LONGEST_SIZE = 32
"""Characters; hundreds of digits are no number that a machine reckons with."""

HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class HealthcheckTable(Table):
    """``healthcheck``: a command that must succeed before the agent begins."""

    command: Name
    interval_sec: NotNegative = 5.0
    timeout_sec: Seconds = 30.0
    start_period_sec: NotNegative = 0.0
    start_interval_sec: NotNegative = 5.0
    retries: Whole = 3


class TpuTable(Table):
    """``tpu``: an accelerator, which no box has."""

    type: Name
    topology: Annotated[str, Field(pattern=TOPOLOGY)]


class McpServerTable(Table):
    """``[[mcp_servers]]``: a server for the agent, which no box can reach."""

    name: Name
    transport: Literal["stdio", "sse", "streamable-http", "http"] = "sse"
    url: str | None = None
    command: str | None = None
    args: list[str] = Field(default_factory=list)
    headers: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def fits_its_transport(self) -> McpServerTable:
        """Each transport has the keys that it needs, and only those."""
        if self.transport == "stdio":
            if not self.command:
                raise fault("is missing", "add it, or name another transport", "command")
            if self.headers:
                raise fault("belong to the HTTP transports", "remove them", "headers")
        elif not self.url:
            raise fault("is missing", 'add it, or write transport = "stdio"', "url")
        if wrong := [name for name in self.headers if HEADER.fullmatch(name) is None]:
            raise fault(f"{wrong[0]!r} is no header's name", "correct it", "headers")
        return self


def size(text: str) -> str:
    """A text in the old form of a size."""
    if SIZE.fullmatch(text) is None:
        raise fault("is not a size", "write one such as 512M or 4G")
    if len(text) > LONGEST_SIZE:
        raise fault("is larger than any machine", "write one such as 512M or 4G")
    return text


def mebibytes(text: str) -> int:
    """The old form of a size in MiB, rounded as Harbor rounds it."""
    match = SIZE.fullmatch(text)
    assert match is not None
    return math.floor(float(match[1]) * MIB[match[2].upper()])


def lower(value: Any) -> Any:  # noqa: ANN401 - what a TOML file holds
    """Harbor reads the name of a system in any case."""
    return value.lower() if isinstance(value, str) else value


class EnvironmentTable(NetworkTable):
    """``[environment]``: the box that the task asks for."""

    build_timeout_sec: Seconds = 600.0
    docker_image: Name | None = None
    os: Annotated[Literal["linux", "windows"], BeforeValidator(lower)] = "linux"
    cpus: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    memory_mb: Whole | None = None
    storage_mb: Whole | None = None
    gpus: Annotated[int, Field(ge=0)] | None = None
    gpu_types: list[str] | None = None
    tpu: TpuTable | None = None
    env: dict[str, str] = Field(default_factory=dict)
    workdir: Annotated[str, Field(pattern=r"^/")] | None = None
    skills_dir: str | None = None
    mcp_servers: list[McpServerTable] = Field(default_factory=list)
    healthcheck: HealthcheckTable | None = None

    memory: Annotated[str, AfterValidator(size)] | None = None
    storage: Annotated[str, AfterValidator(size)] | None = None
    allow_internet: bool | None = None

    @model_validator(mode="after")
    def old_names(self) -> EnvironmentTable:
        """``memory``, ``storage`` and ``allow_internet`` are old names."""
        for old, new in (("memory", "memory_mb"), ("storage", "storage_mb")):
            said, known = getattr(self, old), getattr(self, new)
            if said is None:
                continue
            if known is not None and known != mebibytes(said):
                raise fault(f"contradicts {new} = {known}", f"remove {old}, the old name", old)
            setattr(self, new, max(1, mebibytes(said)))
        if self.allow_internet is not None and self.network_mode is None:
            self.network_mode = "public" if self.allow_internet else "no-network"
        return self
