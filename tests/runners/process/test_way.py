"""How the process box is held, decided from facts."""

from __future__ import annotations

import pytest

from policies import Isolation
from runners.namespaces import KernelSettings, Refusal
from runners.process.way import Facts, Way, decide

REFUSED = "stockade launcher: unshare: Operation not permitted"


@pytest.mark.parametrize("root", [True, False])
def test_namespaces_are_the_strongest_way(root: bool) -> None:
    assert decide(Facts(root, "", 0)) is Way.NAMESPACES


def test_root_without_namespaces_gives_each_session_a_uid() -> None:
    assert decide(Facts(root=True, words=REFUSED, landlock=2)) is Way.OWN_UID


@pytest.mark.parametrize("abi", [6, 7, 9])
def test_a_plain_user_is_held_by_landlocks_signal_scope(abi: int) -> None:
    assert decide(Facts(root=False, words=REFUSED, landlock=abi)) is Way.LANDLOCK


@pytest.mark.parametrize("abi", [1, 2, 4, 5])
def test_without_the_signal_scope_a_plain_user_is_refused(abi: int) -> None:
    refusal = decide(Facts(root=False, words=REFUSED, landlock=abi))
    assert isinstance(refusal, Refusal)
    assert refusal.reason == (
        "this kernel or a security profile gives no user namespaces, and Landlock is too old here "
        f"(ABI {abi}, 6 is needed) to keep a program from killing its supervisor"
    )


@pytest.mark.parametrize("root", [True, False])
def test_without_landlock_the_hosts_files_are_open_so_it_is_refused(root: bool) -> None:
    refusal = decide(Facts(root, REFUSED, 0))
    assert isinstance(refusal, Refusal)
    assert "no Landlock" in refusal.reason


def test_without_proc_a_plain_user_is_refused() -> None:
    refusal = decide(Facts(root=False, words=REFUSED, landlock=7, proc=False))
    assert isinstance(refusal, Refusal)
    assert refusal.cure.endswith("; or mount /proc")


def test_the_cure_names_what_is_switched_off() -> None:
    settings = KernelSettings(max_user_namespaces=0)
    refusal = decide(Facts(root=False, words=REFUSED, landlock=4, settings=settings))
    assert isinstance(refusal, Refusal)
    assert refusal.cure.startswith("sysctl user.max_user_namespaces=15000; or Linux 6.12")


def test_only_namespaces_reach_the_level_of_that_name() -> None:
    assert {way: way.isolation for way in Way} == {
        Way.NAMESPACES: Isolation.NAMESPACE,
        Way.OWN_UID: Isolation.PROCESS,
        Way.LANDLOCK: Isolation.PROCESS,
    }
