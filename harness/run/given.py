"""What of the operator's environment a task may read: what the operator named, and no secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from harness.config import Config
from harness.errors import ConfigError
from harness.run.recording import secret_names

__all__ = ["given_variables"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def given_variables(
    names: Iterable[str], config: Config, environ: Mapping[str, str]
) -> dict[str, str]:
    """The variables that a flag and the configuration name, as far as they are set.

    A task puts them where it likes: into its box, where what an agent writes leaves in a patch.
    So a name that stands for a secret is a ConfigError, whoever named it.
    """
    given: dict[str, str] = {}
    secrets = secret_names(config)
    named = [("--task-env", name) for name in names]
    named += [("[task] env", name) for name in config.task.env]
    for where, name in named:
        if NAME.fullmatch(name) is None:
            raise ConfigError(f"{where}: {name!r} is no name of a variable; leave value and $ out")
        if name in secrets:
            raise ConfigError(
                f"{where}: {name} is a model's key or one of [record] secrets, which no task gets; "
                "take it off the list, or give the task a key of its own under another name"
            )
        if name in environ:
            given[name] = environ[name]
    return given
