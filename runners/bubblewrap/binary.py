"""The bwrap program of this machine and its release."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

from runners.bubblewrap.argv import OLDEST, Version
from runners.errors import UnavailableError

__all__ = ["Binary", "find_binary"]

SEARCH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Binary:
    """A bwrap that can be used."""

    path: str
    version: Version


@cache
def find_binary() -> Binary:
    """The bwrap on the system's own path, else on the harness's; UnavailableError without one.

    The system's comes first: an AppArmor profile names a path, and a copy in a virtual
    environment may be out of reach for the session's user.
    """
    path = shutil.which("bwrap", path=SEARCH) or shutil.which("bwrap")
    if path is None:
        raise UnavailableError("bubblewrap is not installed: apt-get install bubblewrap")
    done = subprocess.run(
        [path, "--version"], capture_output=True, text=True, check=False, env={}, timeout=10
    )
    version = Version.parse(done.stdout)
    if version is None:
        raise UnavailableError(f"{path} does not tell its version: install bubblewrap 0.8 or later")
    if version < OLDEST:
        raise UnavailableError(
            f"bubblewrap {version.major}.{version.minor} cannot bound file systems in memory: "
            "install 0.8 or later"
        )
    return Binary(path, version)
