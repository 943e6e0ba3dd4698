"""The operator's configuration: a file, then the environment, then flags (decision 12).

Nothing here looks into a workspace: the file is ``$XDG_CONFIG_HOME/stockade/config.toml``, the
variables begin with ``STOCKADE_``, and both belong to the operator.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from harness.errors import ConfigError
from policies import read_regular

__all__ = ["Config", "Images", "TaskRules", "config_file", "load_config", "runs_folder"]


@dataclass(frozen=True, slots=True)
class Images:
    """``[images]``: how tasks that describe their own image get one.

    Attributes:
        map: for base images, as tasks name them, the images that stand for them here.
        network: the engine's network while an image is built; None: its own choice.
    """

    map: Mapping[str, str] = field(default_factory=dict)
    network: str | None = None


@dataclass(frozen=True, slots=True)
class TaskRules:
    """``[task]``: what tasks are given of the operator's.

    Attributes:
        env: names of variables that tasks may read; every other counts as unset.
    """

    env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """Settings that stand where neither a task nor a flag says otherwise; None: not set.

    Attributes:
        runner: auto, process, bubblewrap or docker.
        runtime: an OCI runtime of the Docker engine.
        policy: a profile name or the path of a policy file.
        image: the name of an image.
        model: a model, as ``--model`` takes it.
        accept_isolation: the least isolation level the operator puts up with.
        models: the ``[models.NAME]`` tables, for ``harness.models.choice``.
        images: the ``[images]`` table.
        task: the ``[task]`` table.
        record: the ``[record]`` table, for ``harness.run.recording``.
    """

    runner: str | None = None
    runtime: str | None = None
    policy: str | None = None
    image: str | None = None
    model: str | None = None
    accept_isolation: str | None = None
    models: Mapping[str, Any] = field(default_factory=dict)
    images: Images = field(default_factory=Images)
    task: TaskRules = field(default_factory=TaskRules)
    record: Mapping[str, Any] = field(default_factory=dict)


KEYS = tuple(one.name for one in fields(Config))
TABLES = ("models", "record")
TEXTS = tuple(key for key in KEYS if key not in {*TABLES, "images", "task"})


def load_config(environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration file overlaid by ``STOCKADE_RUNNER``, ``STOCKADE_POLICY`` and so on."""
    path = config_file(environ)
    config = read_config(path)
    said: dict[str, Any] = {
        key: environ[f"STOCKADE_{key.upper()}"] for key in TEXTS if variable(key, environ)
    }
    return replace(config, **said)


def variable(key: str, environ: Mapping[str, str]) -> bool:
    """Whether the environment sets a key; an empty value is as good as none."""
    return bool(environ.get(f"STOCKADE_{key.upper()}"))


def read_config(path: Path) -> Config:
    """One configuration file, which need not be there; every key at fault is named at once.

    One that is there and cannot be read is an error: what it says of secrets would not hold.
    """
    try:
        table = tomllib.loads(read_regular(path).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise ConfigError(f"{path}: cannot be read: the link leads nowhere") from None
        return Config()
    except RecursionError:
        raise ConfigError(f"{path}: is nested too deeply; write it flatter") from None
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot be read: {said}") from None
    faults = [fault for key, value in table.items() if (fault := key_fault(key, value))]
    if faults:
        raise ConfigError("\n".join(f"{path}: {fault}" for fault in faults))
    images = table.pop("images", {})
    rules = TaskRules(tuple(table.pop("task", {}).get("env", ())))
    return Config(**table, images=Images(images.get("map", {}), images.get("network")), task=rules)


def key_fault(key: str, value: object) -> str:
    """What is wrong with a key, or nothing."""
    if key not in KEYS:
        return f"{key}: unknown key; known are {', '.join(KEYS)}"
    if key in TABLES:
        return "" if isinstance(value, dict) else f"{key}: must be a table"
    if key == "images":
        return images_fault(value)
    if key == "task":
        return task_fault(value)
    if not isinstance(value, str) or not value:
        return f"{key}: must be a text in quotes that is not empty"
    return ""


def images_fault(value: object) -> str:
    """What is wrong with ``[images]``, or nothing."""
    if not isinstance(value, dict) or set(value) - {"map", "network"}:
        return "images: must be a table with the keys map and network"
    table = value.get("map", {})
    if not isinstance(table, dict) or not all(isinstance(name, str) for name in table.values()):
        return 'images.map: must be a table such as {"python:3.12" = "python"}'
    if not isinstance(value.get("network", ""), str):
        return "images.network: must be the name of a network of the engine"
    return ""


def task_fault(value: object) -> str:
    """What is wrong with ``[task]``, or nothing."""
    if not isinstance(value, dict) or set(value) - {"env"}:
        return "task: must be a table with the key env"
    names = value.get("env", [])
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        return 'task.env: must be a list of names of variables such as ["CI_COMMIT"]'
    return ""


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the configuration file is looked for."""
    return xdg("XDG_CONFIG_HOME", ".config", environ) / "stockade" / "config.toml"


def runs_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the folders of runs live."""
    return xdg("XDG_STATE_HOME", ".local/state", environ) / "stockade" / "runs"


def xdg(name: str, default: str, environ: Mapping[str, str]) -> Path:
    """A folder of the XDG specification, which says that a relative value counts as unset."""
    value = environ.get(name, "")
    if value.startswith("/"):
        return Path(value)
    try:
        return Path(environ.get("HOME") or Path.home()) / default
    except RuntimeError:
        raise ConfigError(
            f"there is no home folder to look in: set HOME, or {name} to an absolute path"
        ) from None
