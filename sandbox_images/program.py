"""Running a long build program: its words become progress, its last ones the error."""

from __future__ import annotations

import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from sandbox_images.errors import ImageError

__all__ = ["run_program"]

KEPT_LINES = 12
GRACE_SECONDS = 3


def ends_with_us() -> list[str]:
    """A prefix that has the kernel end the program when we are killed and cannot."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def run_program(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    progress: Callable[[str], object],
    prefix: str = "",
    stdin: str = "",
) -> None:
    """Run a program to its end; of its lines those with ``prefix`` that end in dots are passed on.

    A failure is an ImageError with the last lines. When we are interrupted the program is asked
    to clean up, then killed.
    """
    process = subprocess.Popen(
        [*ends_with_us(), *argv],
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    last: deque[str] = deque(maxlen=KEPT_LINES)
    try:
        with process.stdin as pipe:
            pipe.write(stdin)
        for line in process.stdout:
            last.append(line.rstrip())
            if prefix and line.startswith(prefix) and line.endswith("...\n"):
                progress(line.removeprefix(prefix).rstrip(".\n"))
        code = process.wait()
    except BaseException:
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    finally:
        process.stdout.close()
    if code != 0:
        raise ImageError(f"{argv[0]} failed with {code}:\n  " + "\n  ".join(last))
