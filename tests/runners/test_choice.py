"""Which box is taken, from what the probes say."""

from __future__ import annotations

import pytest

from policies import Isolation
from runners.choice import choose, decide
from runners.contract import Probe
from runners.errors import UnavailableError

DOCKER = Probe("docker", ok=True, isolation=Isolation.CONTAINER)
GVISOR = Probe("docker", ok=True, isolation=Isolation.KERNEL)
NO_DOCKER = Probe("docker", False, Isolation.CONTAINER, "no engine answers", "start dockerd")
BWRAP = Probe("bubblewrap", ok=True, isolation=Isolation.NAMESPACE)
NO_BWRAP = Probe("bubblewrap", False, Isolation.NAMESPACE, "bubblewrap is not installed", "")
SPACES = Probe("process", ok=True, isolation=Isolation.NAMESPACE)
PLAIN = Probe("process", ok=True, isolation=Isolation.PROCESS)
NO_PROCESS = Probe("process", False, Isolation.PROCESS, "Landlock is too old", "Linux 6.12")


def take(name: str, probes: list[Probe], need: Isolation, accept: Isolation | None = None) -> str:
    return decide(name, {probe.name: probe for probe in probes}, need, accept)


@pytest.mark.parametrize(
    ("probes", "need", "taken"),
    [
        ([DOCKER, BWRAP, SPACES], Isolation.NAMESPACE, "docker"),
        ([NO_DOCKER, BWRAP, SPACES], Isolation.NAMESPACE, "bubblewrap"),
        ([NO_DOCKER, NO_BWRAP, SPACES], Isolation.NAMESPACE, "process"),
        ([NO_DOCKER, NO_BWRAP, SPACES], Isolation.PROCESS, "process"),
        ([GVISOR, BWRAP, PLAIN], Isolation.KERNEL, "docker"),
    ],
)
def test_auto_takes_the_strongest_box(probes: list[Probe], need: Isolation, taken: str) -> None:
    assert take("auto", probes, need) == taken


def test_auto_never_takes_the_plain_process_level() -> None:
    with pytest.raises(UnavailableError) as caught:
        take("auto", [NO_DOCKER, NO_BWRAP, PLAIN], Isolation.PROCESS)
    assert str(caught.value) == (
        "no box of level namespace works here (docker: no engine answers; bubblewrap: bubblewrap "
        "is not installed; process: its level is process here): start dockerd, or accept less "
        "with --accept-isolation process"
    )


def test_an_operator_can_accept_less() -> None:
    probes = [NO_DOCKER, NO_BWRAP, PLAIN]
    assert take("auto", probes, Isolation.NAMESPACE, Isolation.PROCESS) == "process"


def test_accepting_less_still_takes_the_strongest() -> None:
    probes = [NO_DOCKER, BWRAP, PLAIN]
    assert take("auto", probes, Isolation.CONTAINER, Isolation.PROCESS) == "bubblewrap"


def test_a_box_that_cannot_keep_its_promises_is_refused_all_the_same() -> None:
    with pytest.raises(UnavailableError, match=r"Landlock is too old: Linux 6\.12"):
        take("process", [NO_PROCESS], Isolation.PROCESS, Isolation.PROCESS)


def test_a_named_box_below_the_policys_level_is_refused() -> None:
    with pytest.raises(UnavailableError, match="has level process here and the policy needs"):
        take("process", [PLAIN], Isolation.NAMESPACE)


def test_a_named_box_below_the_level_is_taken_when_accepted() -> None:
    assert take("process", [PLAIN], Isolation.NAMESPACE, Isolation.PROCESS) == "process"


def test_accepting_a_higher_level_than_needed_changes_nothing() -> None:
    assert take("bubblewrap", [BWRAP], Isolation.NAMESPACE, Isolation.KERNEL) == "bubblewrap"


async def test_an_unknown_box_is_named_with_its_alternatives() -> None:
    with pytest.raises(UnavailableError, match="one of auto, docker, bubblewrap, process"):
        await choose("chroot", Isolation.PROCESS)
