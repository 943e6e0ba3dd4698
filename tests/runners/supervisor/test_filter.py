"""The seccomp filter, seen from a program; each refusal beside what must go on working."""

from __future__ import annotations

from .conftest import python, text

CALL = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    ctypes.set_errno(0)
    result = libc.syscall(number, *[ctypes.c_long(word) for word in words])
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]
"""


async def answer(session, code: str) -> str:
    outcome = await session.run(python(CALL + code))
    assert outcome.ok, outcome
    return text(outcome).strip()


REACHING = {
    "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308,
    "ptrace": 101, "process_vm_readv": 310, "kcmp": 312, "bpf": 321, "perf_event_open": 298,
    "keyctl": 250, "add_key": 248, "userfaultfd": 323, "kexec_load": 246, "init_module": 175,
    "reboot": 169, "swapon": 167, "settimeofday": 164, "iopl": 172, "open_by_handle_at": 304,
    "syslog": 103, "sethostname": 170, "io_uring_setup": 425, "open_tree": 428, "fsopen": 430,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "shmget": 29, "semget": 64,
    "msgget": 68, "mq_open": 240,
}  # fmt: skip


async def test_calls_that_reach_beyond_the_box_are_refused(session):
    code = f"print(*[call(number, 0, 0, 0, 0, 0, 0) for number in {list(REACHING.values())}])"
    answers = (await answer(session, code)).split()
    assert dict(zip(REACHING, answers, strict=True)) == dict.fromkeys(REACHING, "EPERM")


async def test_a_new_namespace_is_refused_and_a_thread_is_not(session):
    code = (
        "print(call(56, 0x10000000 | 17, 0, 0, 0, 0), call(435, 0, 0))\n"
        "import threading; t = threading.Thread(target=print, args=('thread',))\n"
        "t.start(); t.join()"
    )
    assert await answer(session, code) == "EPERM ENOSYS\nthread"


async def test_typing_into_a_terminal_is_refused_also_with_high_bits(session):
    code = "print(call(16, 0, 0x5412), call(16, 0, 0x5412 | 1 << 40), call(16, 0, 0x541C))"
    assert await answer(session, code) == "EPERM EPERM EPERM"


async def test_no_socket_can_be_opened_where_the_network_is_the_hosts(session):
    code = "print(*[call(41, family, 1, 0) for family in range(46)])"
    assert set((await answer(session, code)).split()) == {"EAFNOSUPPORT"}


async def test_a_network_of_its_own_gives_four_families_only(open_session):
    session = await open_session(own_network=True)
    code = "print(*[call(41, family, 3 if family == 16 else 1, 0) for family in range(46)])"
    answers = (await answer(session, code)).split()
    assert {family for family, said in enumerate(answers) if said == "ok"} == {1, 2, 10, 16}
    assert answers.count("EAFNOSUPPORT") == 42
    assert await answer(session, "print(call(41, 16, 3, 9))") == "EAFNOSUPPORT"  # NETLINK_AUDIT


async def test_a_pair_of_sockets_is_no_way_out_and_works(session):
    code = "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))"
    assert await answer(session, code) == "b'x'"


async def test_fast_open_is_refused(open_session):
    session = await open_session(own_network=True)
    code = (
        "import socket\n"
        "s = socket.socket()\n"
        "try: s.sendto(b'x', 0x20000000, ('127.0.0.1', 9))\n"
        "except OSError as error: print(errno.errorcode[error.errno])"
    )
    assert await answer(session, code) == "ENOTSUP"  # the same number


async def test_tracing_can_be_allowed(open_session):
    session = await open_session(ptrace=True)
    assert await answer(session, "print(call(101, 0, 0, 0, 0))") == "ok"


async def test_privileges_cannot_be_gained(session):
    code = "print(open('/proc/self/status').read())"
    lines = dict(line.split(":\t", 1) for line in (await answer(session, code)).splitlines())
    assert (lines["NoNewPrivs"], lines["Seccomp"]) == ("1", "2")
    if lines["Uid"].split()[0] != "0":
        sets = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
        assert [int(lines[name], 16) for name in sets] == [0] * 5
        assert lines["Groups"].strip() == ""


SET_UID = """
import struct
open("f", "w").close()
folder = os.open(".", os.O_PATH)
def name(text):
    return ctypes.addressof(kept.setdefault(text, ctypes.create_string_buffer(text)))
kept = {}
how = ctypes.create_string_buffer(struct.pack("=QQQ", 0o102, 0o4755, 0))
file = os.open("f", os.O_RDWR)
print(
    call(90, name(b"f"), 0o4755), call(91, file, 0o4755), call(268, folder, name(b"f"), 0o4755),
    call(452, folder, name(b"f"), 0o4755, 0), call(85, name(b"c"), 0o4755),
    call(2, name(b"o"), 0o102, 0o4755), call(257, folder, name(b"a"), 0o102, 0o4755),
    call(257, folder, name(b"."), 0x410002, 0o4755), call(133, name(b"n"), 0o104755, 0),
    call(259, folder, name(b"m"), 0o104755, 0),
    call(437, folder, name(b"p"), ctypes.addressof(how), 24),
)
print(sorted(name for name in os.listdir() if os.stat(name).st_mode & 0o4000))
os.chmod("f", 0o2755)
"""


async def test_no_file_gets_the_set_uid_bit_where_the_workspace_is_a_folder_of_the_host(
    open_session,
):
    session = await open_session(set_uid=False)
    said, files = (await answer(session, SET_UID)).splitlines()
    assert (said, files) == (" ".join(["EPERM"] * 10 + ["ENOSYS"]), "[]")


async def test_files_are_reached_without_the_call_that_is_refused_then(open_session):
    session = await open_session(set_uid=False)
    await session.write_file("a/b.txt", b"x")
    found = await session.read_file("a/b.txt")
    assert found.data == b"x"
