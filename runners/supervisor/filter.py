"""The seccomp filter that the supervisor puts on itself and so on every program.

Written as BPF by hand: 1 ms to load, no library. It refuses what reaches beyond the box or past
our other walls; an unknown system call of a later kernel passes, as the container engines do it.
"""

import errno
from _struct import pack

from runners.supervisor import system

__all__ = ["PRIORITY", "families", "load", "program"]

# Refused with EPERM: numbers on x86-64 and arm64, None where the machine has no such call.
REFUSED = (
    (165, 40), (166, 39), (155, 41), (161, 51), (272, 97), (308, 268),  # mount .. setns
    (310, 270), (311, 271), (312, 272), (321, 280), (298, 241),  # process_vm_*, kcmp, bpf, perf
    (250, 219), (248, 217), (249, 218), (323, 282), (246, 104), (320, 294),  # keys, kexec
    (175, 105), (313, 273), (176, 106), (169, 142), (167, 224), (168, 225),  # modules, swap
    (163, 89), (164, 170), (227, 112), (159, 171), (305, 266),  # acct, clocks
    (172, None), (173, None), (154, None), (179, 60), (304, 265), (303, 264),  # ports, handles
    (300, 262), (153, 58), (103, 116), (170, 161), (171, 162), (279, 239),  # fanotify, names
    (256, 238), (134, None), (136, None), (156, None), (180, 42),
    # io_uring does sockets and files past any filter; then the new mount calls.
    *[(number, number) for number in (425, 426, 427, 428, 429, 430, 431, 432, 433)],
    # Message queues: kernel memory that no limit of ours counts, and thousands to remove.
    (68, 186), (240, 180),
    *[(number, number) for number in (438, 440, 442, 443, 457, 458, 467)],
)  # fmt: skip
PTRACE = (101, 117)
# These objects outlive the process, on the host, where the box has no IPC namespace of its own.
OUTLIVING = ((29, 194), (64, 190))

CLONE, IOCTL, PRLIMIT, SOCKET = (56, 220), (16, 29), (302, 261), (41, 198)
CLONE3 = 435
# A program that made the supervisor yield to everybody would never be ended.
PRIORITY = (141, 140)
SCHEDULING = ((144, 119, 0), (142, 118, 0), (314, 274, 0), (203, 122, 0))
IO_PRIORITY = (251, 30)
FAST_OPEN = (
    (44, 206, 3),
    (46, 211, 2),
    (307, 269, 3),
)  # sendto, sendmsg, sendmmsg and the argument
# Calls that give a file its mode, and the argument that has it.
MODES = (
    (90, None, 1), (91, 52, 1), (268, 53, 2), (452, 452, 2),  # chmod, fchmod, fchmodat(2)
    (85, None, 1), (133, None, 1), (259, 33, 2),  # creat, mknod, mknodat
)  # fmt: skip
# The same, but only with a flag that makes files: the flags, and the mode.
OPENS = ((2, None, 1, 2), (257, 56, 2, 3))
OPENAT2 = 437
SET_UID = 0o4000
MAKES = 0o100 | 0x400000  # O_CREAT, O_TMPFILE without O_DIRECTORY
NEW_NAMESPACES = 0x7E020000
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
MSG_FASTOPEN = 0x20000000
X32 = 0x40000000
ARCHITECTURE = 0xC00000B7 if system.ARM64 else 0xC000003E

# What a priority and an I/O priority are given to: one process, not a group or a user.
ONE_PROCESS, ONE_IO_PROCESS = 0, 1

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06

UNIX, INET, INET6, NETLINK = 1, 2, 10, 16

SECCOMP = 277 if system.ARM64 else 317
SET_MODE_FILTER, SPEC_ALLOW = 1, 4
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38


def families(*, own_network: bool) -> "tuple[int, ...]":
    """Socket families that a program may open: none where the network is the host's."""
    return (UNIX, INET, INET6, NETLINK) if own_network else ()


def program(
    allowed: "tuple[int, ...]",
    *,
    ptrace: bool,
    outliving: bool,
    set_uid: bool = True,
    key: "tuple[int, int]" = (0, 0),
) -> bytes:
    """The filter as BPF instructions.

    ``key`` is what a slot puts into the unused upper halves of the first two arguments of
    ``setpriority`` to lower its programs; programs may change their own priority only, and cannot
    see the key. (0, 0) is no key.
    """
    side = 1 if system.ARM64 else 0
    code = [
        _step(LOAD, 4),
        _step(EQUAL, ARCHITECTURE, 1, 0),
        _step(RETURN, KILL),
        _step(LOAD, 0),
        _step(AT_LEAST, X32, 0, 1),
        _step(RETURN, ERRNO | errno.ENOSYS),
    ]
    refused = list(REFUSED)
    refused += [] if ptrace else [PTRACE]
    refused += [] if outliving else OUTLIVING
    for pair in refused:
        number = pair[side]
        if number is not None:
            code += _answer(number, ERRNO | errno.EPERM)
    # glibc falls back to clone, whose flags can be looked at; EPERM would break threads.
    code += _answer(CLONE3, ERRNO | errno.ENOSYS)
    code += _on(CLONE[side], 0, [_step(ANY_BIT, NEW_NAMESPACES, 0, 1), _refuse(errno.EPERM)])
    code += _on(
        IOCTL[side],
        1,
        [
            _step(EQUAL, TIOCSTI, 1, 0),
            _step(EQUAL, TIOCLINUX, 0, 1),
            _refuse(errno.EPERM),
        ],
    )
    code += _on(PRLIMIT[side], 0, [_step(EQUAL, 0, 1, 0), _refuse(errno.EPERM)])
    for *numbers, argument in SCHEDULING:
        code += _on(numbers[side], argument, [_step(EQUAL, 0, 1, 0), _refuse(errno.EPERM)])
    code += _on(IO_PRIORITY[side], 0, _own(ONE_IO_PROCESS))
    keyed = [
        _upper(0), _step(EQUAL, key[0], 0, 3), _upper(1), _step(EQUAL, key[1], 0, 1),
        _step(RETURN, ALLOW), _argument(0),
    ]  # fmt: skip
    code += _on(PRIORITY[side], 0, (keyed if key != (0, 0) else []) + _own(ONE_PROCESS))
    for *numbers, argument in FAST_OPEN:
        body = [_step(ANY_BIT, MSG_FASTOPEN, 0, 1), _refuse(errno.EOPNOTSUPP)]
        code += _on(numbers[side], argument, body)
    code += _sockets(SOCKET[side], allowed)
    code += [] if set_uid else _no_set_uid(side)
    code.append(_step(RETURN, ALLOW))
    return b"".join(code)


def _own(kind: int) -> "list[bytes]":
    """With the kind of the target loaded: only the calling process itself."""
    return [
        _step(EQUAL, kind, 1, 0),
        _refuse(errno.EPERM),
        _argument(1),
        _step(EQUAL, 0, 1, 0),
        _refuse(errno.EPERM),
    ]


def _no_set_uid(side: int) -> "list[bytes]":
    """No file gets the set-uid bit, by whatever call."""
    code = _answer(OPENAT2, ERRNO | errno.ENOSYS)  # its mode lies in memory, where no filter looks
    for *numbers, argument in MODES:
        number = numbers[side]
        if number is not None:
            body = [_step(ANY_BIT, SET_UID, 0, 1), _refuse(errno.EPERM)]
            code += _on(number, argument, body)
    for *numbers, flags, mode in OPENS:
        number = numbers[side]
        if number is not None:
            body = [
                _step(ANY_BIT, MAKES, 0, 3),
                _argument(mode),
                _step(ANY_BIT, SET_UID, 0, 1),
                _refuse(errno.EPERM),
            ]
            code += _on(number, flags, body)
    return code


def _sockets(number: int, allowed: "tuple[int, ...]") -> "list[bytes]":
    """socket(): the families allowed, NETLINK with protocol 0 only."""
    body: list[bytes] = []
    for family in allowed:
        if family == NETLINK:
            body += [
                _step(EQUAL, NETLINK, 0, 3),
                _argument(2),
                _step(EQUAL, 0, 0, 1),
                _step(RETURN, ALLOW),
            ]
        else:
            body += [_step(EQUAL, family, 0, 1), _step(RETURN, ALLOW)]
    body.append(_refuse(errno.EAFNOSUPPORT))
    return _on(number, 0, body)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return pack("=HBBI", code, yes, no, value)


def _refuse(code: int) -> bytes:
    return _step(RETURN, ERRNO | code)


def _answer(number: int, action: int) -> "list[bytes]":
    return [_step(EQUAL, number, 0, 1), _step(RETURN, action)]


def _argument(index: int) -> bytes:
    """Load the low half of an argument: the kernel ignores the rest of these, so must we."""
    return _step(LOAD, 16 + 8 * index)


def _upper(index: int) -> bytes:
    """Load the high half of an argument."""
    return _step(LOAD, 20 + 8 * index)


def _on(number: int, argument: int, body: "list[bytes]") -> "list[bytes]":
    """Run ``body`` on an argument of this call, then look at the call's number again."""
    inner = [_argument(argument), *body, _step(LOAD, 0)]
    return [_step(EQUAL, number, 0, len(inner)), *inner]


def load(code: bytes) -> None:
    """Put the filter on this thread and all that it starts."""
    memory = system.buffer(code)
    described = pack("HxxxxxxQ", len(code) // 8, system.address(memory))
    system.prctl(PR_SET_NO_NEW_PRIVS, 1)
    try:
        system.syscall(SECCOMP, SET_MODE_FILTER, SPEC_ALLOW, described)
    except OSError:
        held = system.buffer(described)
        system.prctl(PR_SET_SECCOMP, 2, system.address(held))
