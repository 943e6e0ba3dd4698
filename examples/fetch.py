"""Fetches the sources of the real examples: wheels at a pinned version and sha256, from PyPI.

    python examples/fetch.py            all of them
    python examples/fetch.py NAME...    some

pip downloads through the operator's own configuration and checks the hash. Nothing of a package
is run: wheels only, unpacked file by file. Downloads stay in the user's cache, so that the next
set-up needs no network.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

EXAMPLES = Path(__file__).resolve().parent
MAX_BYTES = 16 << 20
"""More than any of the packages holds, unpacked."""


class FetchError(Exception):
    """A source cannot be had, or is not what it should be."""


@dataclass(frozen=True)
class Source:
    """A wheel, and what of it becomes a workspace."""

    task: Path
    package: str
    version: str
    file: str
    sha256: str
    take: tuple[str, ...]

    @classmethod
    def load(cls, task: Path) -> Source:
        """The source that a task names."""
        data = tomllib.loads((task / "source.toml").read_text(encoding="utf-8"))
        return cls(task=task, take=tuple(data.pop("take")), **data)

    @property
    def workspace(self) -> Path:
        """The folder that the task's file names."""
        return self.task / "environment" / "workspace"

    @property
    def stamp(self) -> Path:
        """Says which source the workspace was made of; beside it, not in it."""
        return self.task / "environment" / ".fetched"

    @property
    def ready(self) -> bool:
        """Whether the workspace is there already."""
        return (
            self.workspace.is_dir()
            and self.stamp.is_file()
            and self.stamp.read_text() == self.sha256
        )


def sources(names: list[str]) -> list[Source]:
    """The real examples, or those that are named."""
    tasks = sorted(path.parent for path in EXAMPLES.glob("*/source.toml"))
    known = {task.name: task for task in tasks}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise FetchError(f"no example {', '.join(unknown)}; there are {', '.join(known)}")
    return [Source.load(known[name]) for name in names or known]


def cache() -> Path:
    """Where downloads stay."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stockade" / "examples"


def digest(path: Path) -> str:
    """sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wheel(source: Source) -> Path:
    """The wheel, from the cache or from the registry."""
    kept = cache() / source.sha256 / source.file
    if kept.is_file() and digest(kept) == source.sha256:
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        download(source, Path(folder))
        fetched = Path(folder) / source.file
        if not fetched.is_file() or digest(fetched) != source.sha256:
            raise FetchError(f"{source.package}: pip brought something else than {source.file}")
        fetched.replace(kept)
    return kept


def download(source: Source, folder: Path) -> None:
    """Let pip fetch one wheel and check its hash."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{source.package}=={source.version} --hash=sha256:{source.sha256}\n")
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    argv += ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
    argv += ["--dest", str(folder), "--requirement", str(requirements)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["pip said nothing"]
        raise FetchError(f"{source.package} {source.version} cannot be fetched: {last[0]}")


def unpack(source: Source, archive: Path) -> None:
    """Make the workspace anew: the package's files and its licence, nothing else."""
    shutil.rmtree(source.workspace, ignore_errors=True)
    total = 0
    with zipfile.ZipFile(archive) as wheel_file:
        for entry in wheel_file.infolist():
            name = chosen(source, entry.filename)
            if name is None or entry.is_dir():
                continue
            total += entry.file_size
            if total > MAX_BYTES:
                raise FetchError(f"{source.file} is larger than {MAX_BYTES >> 20} MiB unpacked")
            target = source.workspace / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(wheel_file.read(entry))
    source.stamp.write_text(source.sha256)


def chosen(source: Source, name: str) -> str | None:
    """Where a file of the wheel goes, or None if it stays out."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise FetchError(f"{source.file} holds a file outside of itself: {name!r}")
    if name.startswith(source.take):
        return name
    if path.parts[0].endswith(".dist-info") and path.name.startswith(("LICENSE", "LICENCE")):
        return path.name
    return None


def main() -> int:
    """Fetch what is not there yet."""
    parser = argparse.ArgumentParser(description="fetch the sources of the real examples")
    parser.add_argument("names", nargs="*", metavar="NAME", help="examples; all if none is named")
    try:
        for source in sources(parser.parse_args().names):
            if not source.ready:
                unpack(source, wheel(source))
                print(f"fetched {source.package} {source.version} for {source.task.name}")
    except FetchError as error:
        print(f"fetch: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
