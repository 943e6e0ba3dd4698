"""What is valid in a task and still unwise: each finding with a code, a place and the fix."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from harness.task.below import read_below

__all__ = ["CODES", "Finding", "lint_task"]

Level = Literal["warning", "note"]

CODES: dict[str, str] = {
    "leaked-tests": "a test of the task lies among the files that the agent gets",
    "leaked-solution": "the reference solution lies among the files that the agent gets",
    "no-solution": "no reference solution proves that the task can be done",
    "unpinned-image": "a base image without a version may be another one tomorrow",
    "no-digest": "a base image without a digest may be another one tomorrow",
    "unpinned-package": "a package without a version may be another one tomorrow",
    "root": "the image runs as root",
    "mount": "a volume is shared with the host or between boxes",
    "network-unsaid": "silence on the network means that there is one",
    "network-used": "a script fetches something, and no box has a network",
    "literal-secret": "a value that looks like a secret stands in the task",
    "weak-verifier": "what test.sh reports can be faked by the code under test",
}
"""For each code what it is about."""

NOTES = frozenset({"no-digest", "weak-verifier"})
FETCHES = re.compile(
    r"\b(?:curl|wget|apt-get\s+(?:update|install)|apt\s+install|pip3?\s+install|uv\s+pip|uvx|"
    r"npm\s+(?:install|ci)|git\s+clone)\b"
)
PIP = re.compile(r"\bpip3?\s+install\s+(?P<words>[^&|;\\\n]+(?:\\\n[^&|;\\\n]+)*)")
FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE)
USER = re.compile(r"^\s*USER\s+(\S+)", re.IGNORECASE)
VOLUME = re.compile(r"^\s*VOLUME\b", re.IGNORECASE)
SECRET = re.compile(r"(?i)(?:^|_)(?:api_?key|token|secret|password|passwd)$")
ROOTS = {"root", "0", "0:0", "root:root"}
TRIVIAL = 40
"""A file smaller than this may well be the same in two places by chance."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One unwise thing.

    Attributes:
        code: a key of CODES.
        file: relative to the task folder; line: in it, 0 for the file as a whole.
        message: what it is here.
        fix: what to do.
    """

    code: str
    file: str
    line: int
    message: str
    fix: str

    @property
    def level(self) -> Level:
        """A warning fails ``tasks lint``, a note does not."""
        return "note" if self.code in NOTES else "warning"

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.level}: {self.message}; {self.fix} [{self.code}]"


class Subject:
    """A task folder, read as far as it can be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def file(self) -> dict[str, Any]:
        """``task.toml`` as it is written; empty where it cannot be read."""
        try:
            return tomllib.loads(read_below(self.folder, "task.toml").decode())
        except (OSError, ValueError, RecursionError):
            return {}

    def table(self, *keys: str) -> dict[str, Any]:
        """A table by its path; empty where it is not there."""
        found: Any = self.file
        for key in keys:
            found = found.get(key, {}) if isinstance(found, dict) else {}
        return found if isinstance(found, dict) else {}

    def files(self, *folders: str) -> list[Path]:
        """Plain files below folders, in order; none that a link leads out to."""
        found: list[Path] = []
        for name in folders:
            for path in self.folder.glob(name):
                paths = [path] if path.is_file() else sorted(path.rglob("*"))
                found += [one for one in paths if self.own(one)]
        return found

    def own(self, path: Path) -> bool:
        """Whether this is a plain file of the task."""
        inside = path.resolve().is_relative_to(self.folder.resolve())
        return inside and path.is_file() and not path.is_symlink()

    def name(self, path: Path) -> str:
        """As findings name a file."""
        return path.relative_to(self.folder).as_posix()

    def lines(self, path: Path) -> list[str]:
        """Of a text file."""
        return self.text(path).splitlines()

    def text(self, path: Path) -> str:
        """A text file; nothing of one that is too large to have been written by a person."""
        try:
            return read_below(self.folder, self.name(path)).decode("utf-8", "replace")
        except OSError:
            return ""


def lint_task(folder: Path) -> list[Finding]:
    """Every finding, by file and line."""
    subject = Subject(folder)
    found = [finding for look in LOOKS for finding in look(subject)]
    return sorted(found, key=lambda one: (one.file, one.line, one.code))


def leaks(subject: Subject) -> Iterator[Finding]:
    """Files that only the verifier or the oracle may have."""
    given = {digest(path): path for path in subject.files("environment", "steps/*/workdir")}
    for code, folders in (
        ("leaked-tests", ("tests", "steps/*/tests")),
        ("leaked-solution", ("solution", "steps/*/solution", "solution.sh")),
    ):
        for path in subject.files(*folders):
            twin = given.get(digest(path))
            if twin is not None and path.stat().st_size >= TRIVIAL:
                message = f"the same file as {subject.name(path)}"
                yield Finding(code, subject.name(twin), 0, message, "take it out of there")


def solution(subject: Subject) -> Iterator[Finding]:
    """The proof that the task can be done."""
    places = ("solution/solve.sh", "solution.sh", "steps/*/solution/solve.sh")
    if not subject.files(*places):
        message, fix = CODES["no-solution"], "add solution/solve.sh"
        yield Finding("no-solution", "solution/solve.sh", 0, message, fix)


def images(subject: Subject) -> Iterator[Finding]:
    """The images by name."""
    for keys in (("environment",), ("verifier", "environment")):
        name = subject.table(*keys).get("docker_image")
        if isinstance(name, str):
            yield from pinned(name, "task.toml", 0)
    for path in dockerfiles(subject):
        stages: set[str] = set()
        for number, line in enumerate(subject.lines(path), 1):
            if (match := FROM.match(line)) is None:
                continue
            base, alias = match.groups()
            if base not in stages and base != "scratch" and "$" not in base:
                yield from pinned(base, subject.name(path), number)
            stages.add(alias or "")


def pinned(image: str, file: str, line: int) -> Iterator[Finding]:
    """Whether a name always stands for the same image."""
    if "@sha256:" in image:
        return
    tag = image.rpartition("/")[2].partition(":")[2]
    if tag in {"", "latest"}:
        fix = "name a version, or better a digest"
        yield Finding("unpinned-image", file, line, f"{image} has no version", fix)
    else:
        yield Finding("no-digest", file, line, f"{image} has no digest", "add @sha256:...")


def packages(subject: Subject) -> Iterator[Finding]:
    """What a Dockerfile installs by name alone."""
    for path in dockerfiles(subject):
        text = subject.text(path)
        for match in PIP.finditer(text):
            words = match["words"].replace("\\\n", " ").split()
            if {"-r", "--requirement", "--require-hashes", "-e"} & set(words):
                continue
            for word in words:
                if not word.startswith(("-", ".", "/")) and "==" not in word and "$" not in word:
                    line = text.count("\n", 0, match.start()) + 1
                    name, message = subject.name(path), f"{word} has no version"
                    fix = f"write {word}==VERSION"
                    yield Finding("unpinned-package", name, line, message, fix)


def user(subject: Subject) -> Iterator[Finding]:
    """Who the image runs as; boxes here never run as root, other harnesses do."""
    for path in dockerfiles(subject):
        said = [
            (n, m[1]) for n, line in enumerate(subject.lines(path), 1) if (m := USER.match(line))
        ]
        line, name = said[-1] if said else (0, "root")
        if name.lower() in ROOTS:
            message = "the image ends as root" if said else "no USER is named, which means root"
            yield Finding("root", subject.name(path), line, message, "end with USER 1000:1000")


def mounts(subject: Subject) -> Iterator[Finding]:
    """Volumes that outlive a box or reach the host."""
    for path in dockerfiles(subject):
        for number, line in enumerate(subject.lines(path), 1):
            if VOLUME.match(line):
                yield Finding("mount", subject.name(path), number, "declares a volume", "remove it")
    for path in subject.files("environment/*compose*.y*ml", "*compose*.y*ml"):
        for number, line in enumerate(subject.lines(path), 1):
            if line.strip().startswith("volumes:"):
                fix = "copy the files into the image"
                yield Finding("mount", subject.name(path), number, "mounts volumes", fix)


def network(subject: Subject) -> Iterator[Finding]:
    """The network: unsaid, or used where there is none."""
    box = subject.table("environment")
    if subject.file and "network_mode" not in box and "allow_internet" not in box:
        fix = 'write network_mode = "no-network"'
        message = "environment.network_mode is not set"
        yield Finding("network-unsaid", "task.toml", 0, message, fix)
    scripts = ("tests/*.sh", "solution/*.sh", "steps/*/*/*.sh", "run-tests.sh", "solution.sh")
    for path in subject.files(*scripts):
        for number, line in enumerate(subject.lines(path), 1):
            if (match := FETCHES.search(line.partition("#")[0])) is not None:
                message, fix = f"{match[0]} needs a network", "put it into the image"
                yield Finding("network-used", subject.name(path), number, message, fix)


def secrets(subject: Subject) -> Iterator[Finding]:
    """Values that belong to the operator."""
    for keys in (("environment", "env"), ("verifier", "env"), ("solution", "env")):
        for name, value in subject.table(*keys).items():
            if SECRET.search(name) and isinstance(value, str) and value and "${" not in value:
                message = f"{'.'.join(keys)}.{name} is written out"
                yield Finding(
                    "literal-secret",
                    "task.toml",
                    0,
                    message,
                    f"write ${{{name}}} and run it with --task-env {name}",
                )


def verifier(subject: Subject) -> Iterator[Finding]:
    """How far a pass can be trusted."""
    strong = subject.table("metadata", "stockade").get("verify")
    if subject.file and not strong and not subject.file.get("steps"):
        fix = "name the tests in [metadata.stockade.verify]"
        yield Finding("weak-verifier", "task.toml", 0, CODES["weak-verifier"], fix)


def dockerfiles(subject: Subject) -> list[Path]:
    """Wherever a task may describe an image."""
    return subject.files("environment/Dockerfile", "tests/Dockerfile", "Dockerfile")


def digest(path: Path) -> str:
    """Of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


LOOKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    leaks, solution, images, packages, user, mounts, network, secrets, verifier,
)  # fmt: skip
