"""Which box a run gets: the one that was named, or the strongest that works here (decision 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from policies import Isolation
from runners.contract import Probe, Runner
from runners.errors import UnavailableError

__all__ = ["BOXES", "all_runners", "choose", "decide", "probe_all"]

BOXES = ("docker", "bubblewrap", "process")
"""Strongest first; of two boxes with the same level, auto takes the one named first."""


def make(name: str, runtime: str | None = None) -> Runner:
    """The runner of a box; imported here, since one box must not need what another imports."""
    if name == "docker":
        from runners.docker import DockerRunner

        return DockerRunner(runtime=runtime)
    if name == "bubblewrap":
        from runners.bubblewrap import BubblewrapRunner

        return BubblewrapRunner()
    if name == "process":
        from runners.process import ProcessRunner

        return ProcessRunner()
    raise UnavailableError(f"there is no box {name!r}: one of auto, {', '.join(BOXES)}")


def all_runners(runtime: str | None = None) -> list[Runner]:
    """One of each box, whether it works here or not, strongest first."""
    return [make(name, runtime) for name in BOXES]


async def probe_all() -> list[Probe]:
    """What every box says of this machine, strongest first."""
    return list(await asyncio.gather(*(runner.probe() for runner in all_runners())))


async def choose(
    name: str, need: Isolation, accept: Isolation | None = None, runtime: str | None = None
) -> Runner:
    """The runner for a run.

    Args:
        name: a box, or "auto".
        need: the level that the policy asks for.
        accept: a lower level that the operator accepts.
        runtime: an OCI runtime of the engine; only the docker box has one.

    Raises:
        UnavailableError: one sentence why not, and the cure.
    """
    if runtime is not None and name not in ("auto", "docker"):
        raise UnavailableError(f"box {name} has no runtimes: --runtime goes with --runner docker")
    if runtime is not None:
        name = "docker"
    if name != "auto":
        runner = make(name, runtime)
        decide(name, {name: await runner.probe()}, need, accept)
        return runner
    probes: dict[str, Probe] = {}
    for box in BOXES:  # the strongest first: a weaker one is only tried where it could be taken
        runner = make(box)
        probes[box] = await runner.probe()
        try:
            decide(box, probes, need, accept)
        except UnavailableError:
            continue
        if probes[box].isolation > Isolation.PROCESS:
            return runner
    return make(decide("auto", probes, need, accept))


def decide(
    name: str, probes: Mapping[str, Probe], need: Isolation, accept: Isolation | None = None
) -> str:
    """The box to take, by what the probes say; UnavailableError where none will do."""
    bar = need if accept is None else min(need, accept)
    if name != "auto":
        return named(probes[name], bar)
    floor = bar if accept is not None else max(bar, Isolation.NAMESPACE)
    fit = [probe for probe in probes.values() if probe.ok and probe.isolation >= floor]
    if fit:
        return max(fit, key=lambda probe: (probe.isolation, -BOXES.index(probe.name))).name
    reasons = "; ".join(f"{probe.name}: {lack(probe, floor)}" for probe in probes.values())
    raise UnavailableError(
        f"no box of level {floor.label} works here ({reasons}): {cure(probes, floor)}"
    )


def named(probe: Probe, bar: Isolation) -> str:
    """The box that was asked for by name."""
    if not probe.ok:
        raise UnavailableError(
            f"box {probe.name} does not work here: {lack(probe, bar)}{tail(probe)}"
        )
    if probe.isolation < bar:
        raise UnavailableError(
            f"box {probe.name} has level {probe.isolation.label} here and the policy needs "
            f"{bar.label}: use --runner auto, or --accept-isolation {probe.isolation.label}"
        )
    return probe.name


def lack(probe: Probe, floor: Isolation) -> str:
    """What a box lacks."""
    if not probe.ok:
        return probe.reason
    if probe.isolation < floor:
        return f"its level is {probe.isolation.label} here"
    return ""


def tail(probe: Probe) -> str:
    """The cure of one box, as the end of a sentence."""
    return f": {probe.cure}" if probe.cure else ""


OUGHT = {
    Isolation.PROCESS: "install bubblewrap (apt-get install bubblewrap) or a Docker engine",
    Isolation.NAMESPACE: "install bubblewrap (apt-get install bubblewrap) or a Docker engine",
    Isolation.CONTAINER: "install a Docker engine",
    Isolation.KERNEL: "give the Docker engine a runtime with a kernel of its own (gVisor, Kata) "
    "and name it with --runtime",
}
"""What offers a level, where no box names a cure of its own."""


def cure(probes: Mapping[str, Probe], floor: Isolation) -> str:
    """What would help most: the first box's cure, or the operator's consent."""
    cures = [probe.cure for probe in probes.values() if probe.cure]
    advice = cures[:1] or [OUGHT[floor]]
    weaker = [probe for probe in probes.values() if probe.ok and probe.isolation < floor]
    if weaker:
        level = max(probe.isolation for probe in weaker).label
        advice.append(f"or accept less with --accept-isolation {level}")
    return ", ".join(advice)
