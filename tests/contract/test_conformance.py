"""Every check of the conformance suite, on every box of this machine."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from runners.conformance import CHECKS, Check, known_gaps, run_check
from runners.contract import Runner


def docker_box() -> Runner:
    from runners.docker import DockerRunner

    return DockerRunner()


def bubblewrap_box() -> Runner:
    from runners.bubblewrap import BubblewrapRunner

    return BubblewrapRunner()


def process_box() -> Runner:
    from runners.process import ProcessRunner

    return ProcessRunner()


def plain_process_box() -> Runner:
    from runners.process import ProcessRunner

    return ProcessRunner(namespaces=False)


BOXES = [
    pytest.param(docker_box, id="docker", marks=pytest.mark.docker),
    pytest.param(bubblewrap_box, id="bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param(process_box, id="process"),
    pytest.param(plain_process_box, id="plain-process", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=BOXES)
def box(request: pytest.FixtureRequest) -> Runner:
    """One runner for all checks, as an operator has."""
    return request.param()


@pytest.fixture(scope="module")
def found() -> dict[int, Mapping[str, str]]:
    """The gaps of a runner, asked once."""
    return {}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_a_box_keeps_the_promise(
    check: Check, box: Runner, found: dict[int, Mapping[str, str]]
) -> None:
    if id(box) not in found:
        probe = await box.probe()
        if not probe.ok:
            pytest.skip(f"{probe.name}: {probe.reason}")
        found[id(box)] = known_gaps(probe)
    item = await run_check(box, check, "python", found[id(box)].get(check.name))
    if item.status == "skipped":
        pytest.skip(item.reason)
    assert item.status in ("passed", "gap"), item.reason


def test_the_suite_has_at_least_sixty_checks_with_names_of_their_own() -> None:
    names = [check.name for check in CHECKS]
    assert len(names) == len(set(names)) >= 60


def test_every_promise_that_can_be_tried_has_checks() -> None:
    assert {check.promise for check in CHECKS} == set(range(1, 13)) - {7}


def test_every_check_says_in_a_sentence_what_it_tries() -> None:
    undocumented = [check.name for check in CHECKS if not check.body.__doc__]
    assert undocumented == []
