"""From the tables about boxes to what a run needs of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.task.artifact import ArtifactTable
from harness.task.environment import EnvironmentTable, HealthcheckTable
from harness.task.error import Problem
from harness.task.schema import CollectTable
from harness.task.task import Collect, Healthcheck, Kept, Place
from harness.task.variable import expand

__all__ = ["collect_of", "existing_file", "health_of", "kept_of", "place_of", "workdir_of"]

WORKDIR = re.compile(r"^\s*WORKDIR\s+(\S+)\s*$", re.IGNORECASE | re.MULTILINE)


def place_of(
    box: EnvironmentTable,
    folder: Path,
    key: str,
    environ: Mapping[str, str],
    problems: list[Problem],
) -> Place:
    """The box that a table describes, with the Dockerfile of a folder where it names no image."""
    env, unset = expand(box.env, f"{key}.env", environ)
    problems += unset
    dockerfile = existing_file(folder / "Dockerfile") if box.docker_image is None else None
    return Place(
        docker_image=box.docker_image,
        dockerfile=dockerfile,
        workdir=box.workdir or workdir_of(dockerfile),
        env=env,
        memory_mib=box.memory_mb,
        disk_mib=box.storage_mb,
    )


def workdir_of(dockerfile: Path | None) -> str | None:
    """The working folder that a Dockerfile ends with."""
    if dockerfile is None:
        return None
    path = ""
    for found in WORKDIR.findall(dockerfile.read_text(encoding="utf-8", errors="replace")):
        path = found if found.startswith("/") else f"{path or ''}/{found}"
    return path.rstrip("/") or None


def health_of(table: HealthcheckTable | None) -> Healthcheck | None:
    """A health check, if there is one."""
    if table is None:
        return None
    return Healthcheck(
        command=table.command,
        interval_seconds=table.interval_sec,
        timeout_seconds=table.timeout_sec,
        start_seconds=table.start_period_sec,
        start_interval_seconds=table.start_interval_sec,
        retries=table.retries,
    )


def kept_of(tables: Sequence[ArtifactTable]) -> tuple[Kept, ...]:
    """What is to be kept."""
    return tuple(Kept(t.source, str(t.place), tuple(t.exclude)) for t in tables if t.of_main)


def collect_of(tables: Sequence[CollectTable]) -> tuple[Collect, ...]:
    """What is run to have it."""
    return tuple(Collect(table.command, table.timeout_sec) for table in tables)


def existing_file(path: Path) -> Path | None:
    """The file if it is there."""
    return path if path.is_file() else None
