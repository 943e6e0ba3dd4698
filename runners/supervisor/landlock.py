"""Landlock: what a slot and its programs may open, connect to and signal.

It lets through stat, chmod and the like, path sockets and UDP: a second wall, never the only one.
"""

import posix as os
from _struct import pack

from runners.supervisor import system

__all__ = ["ACCESS", "abi", "restrict"]

CREATE, ADD_RULE, RESTRICT = 444, 445, 446

EXECUTE, WRITE, READ, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK = (1 << bit for bit in range(6, 12))
MAKE_SYM, REFER, TRUNCATE, IOCTL_DEV = (1 << bit for bit in range(12, 16))

ON_FILE = EXECUTE | WRITE | READ | TRUNCATE | IOCTL_DEV
CHANGE = WRITE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM
ACCESS = {
    "r": READ | READ_DIR,
    "rx": READ | READ_DIR | EXECUTE,
    # No device files, ever: root could make one of a disk inside the workspace.
    "rw": READ | READ_DIR | CHANGE | REFER | TRUNCATE,
    "rwx": READ | READ_DIR | EXECUTE | CHANGE | REFER | TRUNCATE,
    "dev": READ | WRITE | TRUNCATE | IOCTL_DEV,
}

TCP = 3
SCOPES = 3
SCOPES_ABI = 6
PR_SET_NO_NEW_PRIVS = 38


def abi() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    try:
        return system.syscall(CREATE, 0, 0, 1)
    except OSError:
        return 0


def restrict(rules: "list[tuple[str, str]]") -> int:
    """Keep this process and all its descendants to ``rules`` of (path, access); the ABI used.

    Without rules only the scopes hold: signals and abstract sockets stay within this domain, so
    that the programs of one call cannot reach those of another. 0: nothing was restricted.
    """
    version = abi()
    if version == 0 or (version < SCOPES_ABI and not rules):
        return 0
    handled = _handled(version) if rules else 0
    attributes = pack("=QQQ", handled, TCP if rules else 0, SCOPES)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = system.syscall(CREATE, attributes, size, 0)
    try:
        for name, access in rules:
            _allow(ruleset, name, ACCESS[access] & handled)
        system.prctl(PR_SET_NO_NEW_PRIVS, 1)
        system.syscall(RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _handled(version: int) -> int:
    bits = 13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16
    return (1 << bits) - 1


def _allow(ruleset: int, name: str, access: int) -> None:
    """Add a rule; a path that does not exist needs none."""
    try:
        fd = os.open(name, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if os.fstat(fd).st_mode & 0o170000 != 0o040000:
            access &= ON_FILE
        system.syscall(ADD_RULE, ruleset, 1, pack("=Qi", access, fd), 0)
    finally:
        os.close(fd)
