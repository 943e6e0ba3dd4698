"""A root tree of the host distribution's packages, by mmdebstrap, as root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from sandbox_images.apt import apt_options, codename, source_lines
from sandbox_images.definition import Definition
from sandbox_images.errors import NoTreeError
from sandbox_images.program import run_program
from sandbox_images.tree import unpack

__all__ = ["bootstrap"]

EXCLUDED = ("man", "info", "locale", "doc")
STEPS = "I: "


def bootstrap(definition: Definition, folder: Path, progress: Callable[[str], object]) -> Path:
    """Make the tree in ``folder/tree``; NoTreeError where this way is not open."""
    if os.geteuid() != 0:
        raise NoTreeError("mmdebstrap needs root here")
    if shutil.which("mmdebstrap") is None:
        raise NoTreeError("mmdebstrap is not installed (apt-get install mmdebstrap)")
    release = codename()
    archive = folder / "tree.tar"
    scratch = folder / "scratch"
    scratch.mkdir()
    scratch.chmod(0o755)  # apt's own user works in there
    progress(f"building a root tree of {release}'s packages, which takes about a minute")
    run_program(
        [*own_mounts(), *mmdebstrap_argv(definition, release, archive)],
        env=program_env(scratch),
        progress=progress,
        prefix=STEPS,
        stdin="\n".join(source_lines(release)) + "\n",
    )
    tree = folder / "tree"
    unpack(archive, tree)
    archive.unlink()
    return tree


def mmdebstrap_argv(definition: Definition, release: str, archive: Path) -> list[str]:
    """Essential packages and the definition's, written as an archive."""
    argv = ["mmdebstrap", "--mode=root", "--variant=essential", "--format=tar"]
    argv.append("--include=" + ",".join(definition.packages))
    argv += [f"--aptopt={line}" for line in apt_options()]
    argv += ['--aptopt=Acquire::Languages "none"', '--aptopt=APT::Install-Recommends "false"']
    argv += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in EXCLUDED]
    argv.append("--dpkgopt=path-include=/usr/share/doc/*/copyright")
    return [*argv, release, str(archive), "-"]


def own_mounts() -> list[str]:
    """A prefix that keeps the builder's mounts and processes together, where the kernel allows it.

    Then nothing of the host can be mounted below a folder that is removed afterwards, and the
    builder's many processes end with the first.
    """
    prefix = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork"]
    prefix += ["--kill-child", "--mount-proc"]
    if shutil.which("unshare") is None:
        return []
    probe = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if probe.returncode == 0 else []


def program_env(scratch: Path) -> dict[str, str]:
    """What a build program gets of our environment: the way out, and nothing else."""
    kept = ("PATH", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    return env | {"HOME": str(scratch), "TMPDIR": str(scratch), "LC_ALL": "C.UTF-8"}
