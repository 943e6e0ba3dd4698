"""A uid for each session: claimed by locks, cleansed of what was left."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runners.errors import StartError
from runners.uid import FIRST_UID, UidClaim, processes_of, sweep_uids

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives uids")

# Far from the uids that sessions of this machine claim: theirs begin at FIRST_UID.
TEST_UID = FIRST_UID + 3000


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of locks over uids that no real session has."""
    monkeypatch.setattr("runners.uid.FIRST_UID", TEST_UID)
    monkeypatch.setattr("runners.uid.COUNT", 3)
    return tmp_path / "uids"


def as_uid(uid: int, *argv: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, user=uid, group=uid, extra_groups=[], start_new_session=True)


def test_two_claims_have_two_uids(locks: Path) -> None:
    with UidClaim.take(locks) as one, UidClaim.take(locks) as other:
        assert (one.uid, other.uid) == (TEST_UID, TEST_UID + 1)


def test_a_released_uid_is_claimed_again(locks: Path) -> None:
    with UidClaim.take(locks) as first:
        pass
    with UidClaim.take(locks) as second:
        assert second.uid == first.uid


def test_releasing_twice_is_fine(locks: Path) -> None:
    claim = UidClaim.take(locks)
    claim.release()
    claim.release()


def test_release_ends_every_process_of_the_uid(locks: Path) -> None:
    claim = UidClaim.take(locks)
    children = [as_uid(claim.uid, "/bin/sleep", "1000") for _ in range(3)]
    claim.release()
    assert [child.wait(5) for child in children] == [-9] * 3
    assert list(processes_of(claim.uid)) == []


def test_release_removes_system_v_objects_and_shared_memory(locks: Path) -> None:
    claim = UidClaim.take(locks)
    code = (
        "import ctypes; libc = ctypes.CDLL(None)\n"
        "assert libc.shmget(0, 4096, 0o1600) >= 0\n"
        "assert libc.semget(0, 1, 0o1600) >= 0\n"
        "assert libc.msgget(0, 0o1600) >= 0\n"
        "open('/dev/shm/stockade-test-left', 'w').close()\n"
    )
    assert as_uid(claim.uid, "/usr/bin/python3", "-I", "-c", code).wait(20) == 0
    assert Path("/dev/shm/stockade-test-left").exists()
    claim.release()
    tables = [Path(f"/proc/sysvipc/{kind}").read_text() for kind in ("shm", "sem", "msg")]
    assert [str(claim.uid) in table for table in tables] == [False] * 3
    assert not Path("/dev/shm/stockade-test-left").exists()


def test_a_sweep_cleanses_the_dead_and_leaves_the_living(locks: Path) -> None:
    living = UidClaim.take(locks)
    dead = UidClaim.take(locks)
    stays, goes = as_uid(living.uid, "/bin/sleep", "1000"), as_uid(dead.uid, "/bin/sleep", "1000")
    assert dead._lock is not None
    os.close(dead._lock)  # what the kernel does when a harness dies
    assert sweep_uids(locks) == [f"uid {dead.uid}"]
    assert goes.wait(5) == -9
    assert stays.poll() is None
    living.release()
    assert stays.wait(5) == -9


def test_a_second_sweep_finds_nothing(locks: Path) -> None:
    claim = UidClaim.take(locks)
    assert claim._lock is not None
    os.close(claim._lock)
    assert [sweep_uids(locks), sweep_uids(locks)] == [[f"uid {claim.uid}"], []]


def test_a_uid_that_a_dead_session_left_is_taken_last(locks: Path) -> None:
    dead = UidClaim.take(locks)
    assert dead._lock is not None
    os.close(dead._lock)
    left = as_uid(dead.uid, "/bin/sleep", "1000")
    claims = [UidClaim.take(locks) for _ in range(2)]
    assert left.poll() is None
    claims.append(UidClaim.take(locks))
    assert [claim.uid for claim in claims] == [TEST_UID + 1, TEST_UID + 2, TEST_UID]
    assert left.wait(5) == -9
    with pytest.raises(StartError, match="all 3 session uids are taken"):
        UidClaim.take(locks)
    for claim in claims:
        claim.release()


def test_processes_are_told_by_their_uid() -> None:
    assert os.getpid() in processes_of(os.getuid())
