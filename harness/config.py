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

__all__ = ["Config", "config_file", "load_config", "runs_folder"]


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
    """

    runner: str | None = None
    runtime: str | None = None
    policy: str | None = None
    image: str | None = None
    model: str | None = None
    accept_isolation: str | None = None
    models: Mapping[str, Any] = field(default_factory=dict)


KEYS = tuple(one.name for one in fields(Config))
TEXTS = tuple(key for key in KEYS if key != "models")


def load_config(environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration file overlaid by ``STOCKADE_RUNNER``, ``STOCKADE_POLICY`` and so on."""
    path = config_file(environ)
    config = read_config(path) if path.is_file() else Config()
    said: dict[str, Any] = {
        key: environ[f"STOCKADE_{key.upper()}"] for key in TEXTS if variable(key, environ)
    }
    return replace(config, **said)


def variable(key: str, environ: Mapping[str, str]) -> bool:
    """Whether the environment sets a key; an empty value is as good as none."""
    return bool(environ.get(f"STOCKADE_{key.upper()}"))


def read_config(path: Path) -> Config:
    """One configuration file; every key at fault is named at once."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    faults = [fault for key, value in table.items() if (fault := key_fault(key, value))]
    if faults:
        raise ConfigError("\n".join(f"{path}: {fault}" for fault in faults))
    return Config(**table)


def key_fault(key: str, value: object) -> str:
    """What is wrong with a key, or nothing."""
    if key not in KEYS:
        return f"{key}: unknown key; known are {', '.join(KEYS)}"
    if key == "models":
        return "" if isinstance(value, dict) else "models: must be a table of tables"
    if not isinstance(value, str) or not value:
        return f"{key}: must be a text in quotes that is not empty"
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
    return Path(environ.get("HOME") or Path.home()) / default
