"""The filter's instructions for both machines, run by an interpreter of BPF."""

from __future__ import annotations

import errno
import importlib
import struct

import pytest

from runners.supervisor import filter as seccomp
from runners.supervisor import system

ALLOWED = "allowed"


@pytest.fixture(params=["x86-64", "arm64"])
def machine(request, monkeypatch):
    """The filter's module as it is on this machine."""
    monkeypatch.setattr(system, "ARM64", request.param == "arm64")
    yield importlib.reload(seccomp)
    monkeypatch.undo()
    importlib.reload(seccomp)


def interpret(code: bytes, number: int, *words: int, arch: int) -> str:
    """What the kernel would answer."""
    padded = (*words, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=IIQ6Q", number, arch, 0, *padded)
    steps = list(struct.iter_unpack("=HBBI", code))
    at = accumulator = 0
    while True:
        operation, yes, no, value = steps[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif operation == 0x06:
            if value == 0x7FFF0000:
                return ALLOWED
            return "killed" if value == 0x80000000 else errno.errorcode[value & 0xFFFF]
        else:
            tests = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: accumulator & value,
            }
            at += yes if tests[operation] else no


def answers(machine, calls, **options):
    options = {"ptrace": False, "outliving": False, **options}
    families = options.pop("families", ())
    code = machine.program(families, **options)
    side = 1 if system.ARM64 else 0
    return [
        interpret(code, numbers[side], *words, arch=machine.ARCHITECTURE)
        for numbers, *words in calls
    ]


def test_another_architecture_is_killed(machine):
    code = machine.program((), ptrace=False, outliving=False)
    for arch in (0x40000003, 0x40000028, 0):
        assert interpret(code, 1, arch=arch) == "killed"


def test_the_other_calling_convention_is_unknown(machine):
    code = machine.program((), ptrace=False, outliving=False)
    for number in (0x40000000, 0x40000000 | 41, 0xFFFFFFFF):
        assert interpret(code, number, arch=machine.ARCHITECTURE) == "ENOSYS"


def test_ordinary_calls_pass(machine):
    calls = [((0, 63),), ((1, 64),), ((59, 221),), ((231, 94),), ((53, 199),), ((319, 279),)]
    assert answers(machine, calls) == [ALLOWED] * len(calls)


def test_every_refused_call_is_refused(machine):
    calls = [(pair,) for pair in machine.REFUSED if pair[1 if system.ARM64 else 0] is not None]
    assert set(answers(machine, calls)) == {"EPERM"}


def test_tracing_and_outliving_objects_can_be_let_through(machine):
    calls = [(machine.PTRACE,), *[(pair,) for pair in machine.OUTLIVING]]
    assert set(answers(machine, calls)) == {"EPERM"}
    assert set(answers(machine, calls, ptrace=True, outliving=True)) == {ALLOWED}


def test_only_the_low_half_of_an_argument_decides(machine):
    high = 1 << 32
    calls = [
        (machine.IOCTL, 0, 0x5412 | high),
        (machine.IOCTL, 0, 0x5413),
        (machine.CLONE, 0x10000000 | high),
        (machine.CLONE, 0x003D0F00),
        (machine.PRLIMIT, 0 | high),
        (machine.PRLIMIT, 0),
        (machine.PRLIMIT, 1),
        (machine.SOCKET, 1 | high),
    ]
    expected = ["EPERM", ALLOWED, "EPERM", ALLOWED, ALLOWED, ALLOWED, "EPERM", ALLOWED]
    assert answers(machine, calls, families=(1,)) == expected


@pytest.mark.parametrize("own", [False, True])
def test_socket_families_are_an_allow_list(machine, own):
    families = machine.families(own_network=own)
    calls = [(machine.SOCKET, family, 1, 0) for family in range(64)]
    passed = {
        family
        for family, said in enumerate(answers(machine, calls, families=families))
        if said == ALLOWED
    }
    assert passed == ({1, 2, 10, 16} if own else set())
    audit = answers(machine, [(machine.SOCKET, 16, 3, 9)], families=families)
    assert audit == ["EAFNOSUPPORT"]


def test_fast_open_is_refused_in_all_three_calls(machine):
    for *numbers, argument in machine.FAST_OPEN:
        words = [0] * 6
        plain = answers(machine, [(numbers, *words)])
        words[argument] = 0x20000000 | 1
        assert (plain, answers(machine, [(numbers, *words)])) == ([ALLOWED], ["ENOTSUP"])


def test_a_call_that_sets_the_set_uid_bit_is_refused_where_that_is_asked(machine):
    side = 1 if system.ARM64 else 0
    for *numbers, argument in machine.MODES:
        if numbers[side] is None:
            continue
        asked = []
        for mode in (0o4755, 0o4000 | 1 << 32, 0o3777):
            words = [0] * 6
            words[argument] = mode
            asked.append((numbers, *words))
        assert answers(machine, asked, set_uid=False) == ["EPERM", "EPERM", ALLOWED]
        assert answers(machine, asked) == [ALLOWED] * 3


def test_the_mode_of_an_opened_file_counts_only_where_one_is_made(machine):
    side = 1 if system.ARM64 else 0
    for *numbers, flags, mode in machine.OPENS:
        if numbers[side] is None:
            continue
        asked = []
        for flag, bits in ((0o101, 0o4755), (0x410002, 0o4755), (0o101, 0o755), (0, 0o4755)):
            words = [0] * 6
            words[flags], words[mode] = flag, bits
            asked.append((numbers, *words))
        assert answers(machine, asked, set_uid=False) == ["EPERM", "EPERM", ALLOWED, ALLOWED]
    openat2 = [((machine.OPENAT2,) * 2,)]
    assert answers(machine, openat2, set_uid=False) == ["ENOSYS"]
    assert answers(machine, openat2) == [ALLOWED]
