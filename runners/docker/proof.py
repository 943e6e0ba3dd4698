"""Trials, remembered: one for each engine, runtime and boot, in the state folder."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runners.docker.trial import Trial
from runners.owner import Owner

__all__ = ["Proofs", "state_folder"]


def state_folder() -> Path:
    """Where what is remembered of engines is kept (decision 12)."""
    named = os.environ.get("XDG_STATE_HOME", "")
    base = Path(named) if named.startswith("/") else Path.home() / ".local" / "state"
    return base / "stockade" / "docker"


class Proofs:
    """Results of trials in a folder; one that cannot be read is one that was not made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, key: str) -> Trial | None:
        """The remembered trial."""
        try:
            record: Any = json.loads((self.folder / f"{key}.json").read_bytes())
            python = tuple(int(number) for number in record["python"])
            return Trial(
                python=(python[0], python[1]),
                path=str(record["path"]),
                processes=int(record["processes"]),
                memory_mib=int(record["memory_mib"]),
                survived=record["survived"] is not False,
            )
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return None

    def save(self, key: str, trial: Trial) -> None:
        """Remember a trial that ran to a result; a folder that cannot be written is no error."""
        if trial.python is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            draft = self.folder / f"{key}.{os.getpid()}.new"
            draft.write_text(json.dumps(dataclasses.asdict(trial)))
            draft.replace(self.folder / f"{key}.json")
        except OSError:
            return


def proof_key(
    version: Mapping[str, Any], info: Mapping[str, Any], runtime: str | None, image: str
) -> str:
    """What a trial's result depends on; the boot stands for kernel and cgroup set-up."""
    name = runtime or info.get("DefaultRuntime")
    entry = (info.get("Runtimes") or {}).get(name)
    parts = [
        info.get("ID"),
        version.get("Version"),
        info.get("CgroupVersion"),
        info.get("CgroupDriver"),
        name,
        entry,
        image,
        Owner.me().boot,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
