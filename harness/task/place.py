"""From the tables about boxes to what a run needs of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from harness.task.artifact import ArtifactTable
from harness.task.below import TaskFiles
from harness.task.environment import EnvironmentTable, HealthcheckTable
from harness.task.schema import CollectTable
from harness.task.task import Collect, Healthcheck, Kept, Place
from harness.task.variable import expand

__all__ = ["collect_of", "health_of", "kept_of", "place_of", "workdir_of"]

WORKDIR = re.compile(r"^\s*WORKDIR\s+(\S+)\s*$", re.IGNORECASE | re.MULTILINE)


def place_of(
    box: EnvironmentTable,
    files: TaskFiles,
    home: str,
    key: str,
    environ: Mapping[str, str],
) -> Place:
    """The box that a table describes, with the Dockerfile of a folder where it names no image."""
    env, unset = expand(box.env, f"{key}.env", environ)
    files.problems.extend(unset)
    dockerfile = files.file(f"{home}/Dockerfile") if box.docker_image is None else None
    return Place(
        docker_image=box.docker_image,
        dockerfile=dockerfile,
        workdir=box.workdir or (workdir_of(files, f"{home}/Dockerfile") if dockerfile else None),
        env=env,
        memory_mib=box.memory_mb,
        disk_mib=box.storage_mb,
    )


def workdir_of(files: TaskFiles, dockerfile: str) -> str | None:
    """The working folder that a Dockerfile ends with."""
    path = ""
    for found in WORKDIR.findall(files.loose_text(dockerfile)):
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
