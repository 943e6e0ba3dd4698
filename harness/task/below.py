"""The files of a task folder, none of which may lead out of it.

A task folder is written by strangers. Whatever is read of it is opened name by name below the
folder's own descriptor; a link is followed as long as it stays inside.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.task.error import Problem

__all__ = [
    "MOST_BYTES",
    "LeadsOutError",
    "NotAFileError",
    "TaskFiles",
    "TooLargeError",
    "read_below",
]

MOST_BYTES = 1 << 20
"""What a text for people and models may come to."""

MOST_SCRIPT_BYTES = 16 << 20

LINKS = 40
"""As many links as the system itself follows on the way to one file."""

FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not waiting: the other end of a pipe may never come."""


class LeadsOutError(OSError):
    """A link, or a name, that leads out of the folder."""


class NotAFileError(OSError):
    """A pipe, a socket, a device, or a folder where a file is wanted."""


class TooLargeError(OSError):
    """More than anybody should read."""


def open_below(root: Path, name: str) -> int:
    """A descriptor of a file or folder below a folder; the caller closes it."""
    if "\0" in name:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    # Links in the way to the folder itself are the operator's.
    way = [os.open(root, FOLDER & ~os.O_NOFOLLOW)]
    parts, links = name.split("/")[::-1], 0
    try:
        while parts:
            part = parts.pop()
            if part in {"", "."}:
                continue
            if part == "..":
                if len(way) == 1:
                    raise LeadsOutError(errno.EXDEV, "leads out of the task folder")
                os.close(way.pop())
                continue
            mode = os.stat(part, dir_fd=way[-1], follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                links += 1
                target = os.readlink(part, dir_fd=way[-1])
                if target.startswith("/") or links > LINKS:
                    raise LeadsOutError(errno.EXDEV, "leads out of the task folder")
                parts += target.split("/")[::-1]
            elif stat.S_ISDIR(mode):
                way.append(os.open(part, FOLDER, dir_fd=way[-1]))
            elif not stat.S_ISREG(mode):
                raise NotAFileError(errno.EINVAL, "is a pipe, a socket or a device")
            elif any(part not in {"", "."} for part in parts):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            else:
                way.append(os.open(part, FILE, dir_fd=way[-1]))
        return way.pop()
    finally:
        for descriptor in way:
            os.close(descriptor)


def read_below(root: Path, name: str, *, most: int = MOST_BYTES) -> bytes:
    """What a regular file below a folder holds; an OSError that says why not."""
    with open(_regular(root, name), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLargeError(errno.EFBIG, f"is larger than {most >> 20} MiB")
    return data


def _regular(root: Path, name: str) -> int:
    descriptor = open_below(root, name)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFileError(errno.EISDIR, "is not a file")
    return descriptor


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """A task folder, and what was found wrong with its files.

    Attributes:
        folder: the task folder.
        problems: every fault that is found is added, once.
    """

    folder: Path
    problems: list[Problem]

    def text(self, name: str) -> str | None:
        """A text that must be there, or None with the problem noted."""
        try:
            return read_below(self.folder, name).decode("utf-8")
        except FileNotFoundError:
            self.note(name, "is missing", "add it")
        except UnicodeDecodeError:
            self.note(name, "is not UTF-8", "save it as UTF-8")
        except OSError as error:
            self.note_fault(name, error)
        return None

    def loose_text(self, name: str) -> str:
        """A text as far as it can be decoded; "" where it cannot be read."""
        try:
            return read_below(self.folder, name).decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        except OSError as error:
            self.note_fault(name, error)
            return ""

    def file(self, name: str) -> Path | None:
        """The path of a file, if it is there; what is no plain file of the task is a problem."""
        return self._path(name, stat.S_IFREG)

    def subfolder(self, name: str) -> Path | None:
        """The path of a folder, if it is there."""
        return self._path(name, stat.S_IFDIR)

    def _path(self, name: str, kind: int) -> Path | None:
        try:
            descriptor = open_below(self.folder, name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.note_fault(name, error)
            return None
        try:
            status = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if stat.S_IFMT(status.st_mode) != kind:
            return None
        if kind == stat.S_IFREG and status.st_size > MOST_SCRIPT_BYTES:
            self.note(name, f"is larger than {MOST_SCRIPT_BYTES >> 20} MiB", "make it smaller")
            return None
        return self.folder / name

    def note_fault(self, name: str, error: OSError) -> None:
        """Why something cannot be read, as a problem."""
        said = error.strerror or str(error)
        if isinstance(error, LeadsOutError):
            above = {one.file for one in self.problems if one.message == said}
            if any(str(parent) in above for parent in PurePosixPath(name).parents):
                return
            self.note(name, said, "copy what it leads to into the folder")
        elif isinstance(error, NotAFileError):
            self.note(name, said, "put a plain file there")
        elif isinstance(error, TooLargeError):
            self.note(name, said, "make it smaller")
        else:
            self.note(name, f"cannot be read: {said}", "make it readable")

    def note(self, name: str, message: str, fix: str) -> None:
        """A problem of a file, said once."""
        problem = Problem(name, "", message, fix)
        if problem not in self.problems:
            self.problems.append(problem)
