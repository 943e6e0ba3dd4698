"""What others read our exports with, from their own packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["downloaded", "harbor_steps"]

READS_TRAJECTORIES = """
import sys; sys.path.insert(0, sys.argv[1])
from harbor.models.trajectories import Trajectory
print(len(Trajectory.model_validate_json(sys.stdin.read()).steps))
"""


def downloaded(package: str, tmp_path: Path) -> Path:
    """The wheel of a package, without what it depends on."""
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
    argv = [*pip, "--python-version", "3.12", "-d", str(wheels), package]
    subprocess.run(argv, check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    return wheel


def harbor_steps(text: str, tmp_path: Path) -> int:
    """How many steps harbor's own models find in a trajectory that they accept."""
    argv = [sys.executable, "-c", READS_TRAJECTORIES, str(downloaded("harbor", tmp_path))]
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)
