"""A root tree of the host distribution's packages without any rights, by apt-get and dpkg-deb.

Packages are downloaded and unpacked; none of their scripts runs. What the scripts would have
made and a box needs is made here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from sandbox_images.apt import apt_options, codename, source_lines
from sandbox_images.bootstrap import EXCLUDED, program_env
from sandbox_images.compiled import compile_modules
from sandbox_images.definition import Definition
from sandbox_images.errors import ImageError, NoTreeError
from sandbox_images.program import run_program

__all__ = ["extract"]

MERGED = ("bin", "lib", "lib64", "sbin")
LINKS = {
    "usr/bin/awk": "mawk",
    "usr/bin/nawk": "mawk",
    "usr/bin/pager": "less",
    "usr/bin/which": "which.debianutils",
    "usr/bin/sh": "dash",
}
"""What update-alternatives and diversions would have made; only where the target is there."""


def extract(definition: Definition, folder: Path, progress: Callable[[str], object]) -> Path:
    """Make the tree in ``folder/tree``; NoTreeError where this way is not open."""
    release = codename()
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise NoTreeError(f"{program} is not installed")
    progress(f"unpacking a root tree of {release}'s packages, without their scripts")
    packages = download(definition, folder, source_lines(release), progress)
    tree = folder / "tree"
    tree.mkdir()
    skeleton(tree)
    for package in packages:
        unpack_package(package, tree)
    write_status(packages, tree)
    finish(tree)
    libraries = sorted((tree / "usr/lib").glob("python3*"))
    compile_modules(tree, libraries)
    return tree


def download(
    definition: Definition, folder: Path, sources: list[str], progress: Callable[[str], object]
) -> list[Path]:
    """Let apt choose and fetch the packages of an empty machine, in a state of its own."""
    state = folder / "apt"
    for name in ("lists/partial", "archives/partial"):
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    (state / "sources.list").write_text("\n".join(sources) + "\n")
    options = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::State::extended_states": state / "extended",
        "Dir::Cache::archives": state / "archives",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
        "APT::Install-Recommends": "false",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "1",
    }
    argv = ["apt-get", "-q"]
    for line in apt_options():
        name, _, value = line.partition(" ")
        argv += ["-o", f"{name}={value.strip(chr(34))}"]
    for key, option in options.items():
        argv += ["-o", f"{key}={option}"]
    env = program_env(state)
    run_program([*argv, "update"], env=env, progress=progress)
    essential = "?and(?essential, ?not(?exact-name(apt)))"  # apt thinks itself essential
    wanted = [essential, "apt-", *definition.packages]
    run_program([*argv, "install", "-y", "--download-only", *wanted], env=env, progress=progress)
    packages = sorted((state / "archives").glob("*.deb"))
    progress(f"fetched {len(packages)} packages")
    return packages


def skeleton(tree: Path) -> None:
    """The folders that packages expect: a merged /usr, as every release since 2023 has."""
    for name in MERGED:
        (tree / "usr" / name).mkdir(parents=True, exist_ok=True)
        (tree / name).symlink_to(f"usr/{name}")
    (tree / "tmp").mkdir()
    (tree / "tmp").chmod(0o1777)


def unpack_package(package: Path, tree: Path) -> None:
    """Unpack one package through the merged folders; owners only where we may."""
    argv = ["tar", "-x", "-p", "-C", str(tree), "--keep-directory-symlink"]
    if os.geteuid() != 0:
        argv.append("--no-same-owner")
    argv += [f"--exclude=./usr/share/{name}/*" for name in EXCLUDED if name != "doc"]
    source = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
    assert source.stdout is not None
    with source.stdout as pipe:
        done = subprocess.run(argv, stdin=pipe, capture_output=True, text=True, check=False)
    if source.wait() != 0 or done.returncode != 0:
        raise ImageError(f"{package.name} does not unpack: {done.stderr.strip()[-300:]}")


def write_status(packages: list[Path], tree: Path) -> None:
    """The package database, so that the image's own tools know what is there."""
    paragraphs = []
    for package in packages:
        done = subprocess.run(
            ["dpkg-deb", "-f", str(package)], capture_output=True, text=True, check=True
        )
        first, _, rest = done.stdout.strip().partition("\n")
        paragraphs.append(f"{first}\nStatus: install ok installed\n{rest}\n")
    database = tree / "var/lib/dpkg"
    database.mkdir(parents=True, exist_ok=True)
    (database / "status").write_text("\n".join(paragraphs))


def finish(tree: Path) -> None:
    """What the packages' scripts would have made: users, links, and no leftovers of dpkg."""
    masters = tree / "usr/share/base-passwd"
    for name in ("passwd", "group"):
        shutil.copyfile(masters / f"{name}.master", tree / "etc" / name)
        (tree / "etc" / name).chmod(0o644)
    for link, target in LINKS.items():
        path = tree / link
        if not path.is_symlink() and not path.exists() and (path.parent / target).exists():
            path.symlink_to(target)
    names = tree / "usr/share/libc-bin/nsswitch.conf"
    if names.is_file() and not (tree / "etc/nsswitch.conf").exists():
        shutil.copyfile(names, tree / "etc/nsswitch.conf")
