"""git on the host, as a tool for comparing two folders: no configuration, no hooks, a deadline."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from runners.errors import RunnerError

__all__ = ["find_git", "run_git"]

SECONDS = 120
OUTPUT_MAX = 1 << 30
ENV = {
    "PATH": os.defpath,
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


def find_git() -> str | None:
    """The git of this machine, or None."""
    return shutil.which("git")


def run_git(git: str, arguments: list[str], cwd: Path) -> tuple[int, bytes]:
    """Run git in a folder of ours: its exit code and output; more than the bound is an error."""
    # No repository above our folder may lend its attributes or configuration.
    env = {**ENV, "GIT_CEILING_DIRECTORIES": str(cwd.parent)}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(
                [git, *arguments],
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RunnerError(f"git {arguments[0]} did not end within {SECONDS} seconds") from None
        if done.returncode not in (0, 1):
            errors.seek(0)
            text = errors.read(2000).decode("utf-8", "replace").strip()
            raise RunnerError(f"git {arguments[0]} failed with {done.returncode}: {text}")
        size = output.tell()
        if size > OUTPUT_MAX:
            raise RunnerError(f"the patch is {size} bytes, more than {OUTPUT_MAX}")
        output.seek(0)
        return done.returncode, output.read()
