"""Long build programs: progress while they run, the last words when they fail."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from sandbox_images import ImageError
from sandbox_images.program import run_program


def test_steps_are_passed_on_and_other_lines_are_not():
    said: list[str] = []
    script = "echo 'I: one...'; echo noise; echo 'I: two...' >&2; cat"
    run_program(["sh", "-c", script], env=os.environ, progress=said.append, prefix="I: ", stdin="x")
    assert said == ["one", "two"]


def test_a_failure_ends_with_the_programs_last_words():
    with pytest.raises(ImageError, match="sh failed with 3:\n  the reason"):
        run_program(["sh", "-c", "echo the reason; exit 3"], env=os.environ, progress=print)


def test_an_interrupted_build_ends_its_program(tmp_path):
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    script = f"trap 'touch {tmp_path}/cleaned; exit 1' TERM; echo 'I: on...'; sleep 60 & wait"
    with pytest.raises(KeyboardInterrupt):
        run_program(["sh", "-c", script], env=os.environ, progress=interrupt, prefix="I: ")
    assert (tmp_path / "cleaned").exists()


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_a_killed_builder_takes_its_program_along():
    ours = (
        "import os; from sandbox_images.program import run_program\n"
        "run_program(['sh', '-c', 'echo I: $$...; exec sleep 60'], env=os.environ,"
        " progress=lambda line: print(line, flush=True), prefix='I: ')\n"
    )
    with subprocess.Popen([sys.executable, "-c", ours], stdout=subprocess.PIPE, text=True) as us:
        assert us.stdout is not None
        pid = int(us.stdout.readline())
        us.send_signal(signal.SIGKILL)
        us.wait()
        deadline = time.monotonic() + 10
        while alive(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert not alive(pid)
