"""What an engine can and cannot hold, decided from what was found. Pure: no engine is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from policies import Isolation
from runners.contract import Probe
from runners.docker.endpoint import Endpoint
from runners.docker.trial import Trial

__all__ = ["Finding", "assess", "is_gvisor", "runtime_level", "warning_problem"]

OLDEST_API = (1, 40)
KERNEL_RUNTIMES = ("runsc", "kata", "krun")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about an engine.

    Attributes:
        endpoint: where it is.
        version: its answer to ``/version``.
        info: its answer to ``/info``.
        runtime: the OCI runtime that is to be used, None for its default.
        trial: what a container that exceeded tiny limits did; None when none could be run.
    """

    endpoint: Endpoint
    version: Mapping[str, Any] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    runtime: str | None = None
    trial: Trial | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """One sentence, and what would fix it."""

    reason: str
    cure: str


def assess(found: Finding) -> Probe:
    """The probe of the docker box: refused at the first thing that a promise needs and lacks."""
    for check in (engine_problem, runtime_problem, limits_problem, trial_problem):
        problem = check(found)
        if problem is not None:
            return probe(found, problem, ok=False)
    for weakness in (no_trial, no_swap_limit, no_seccomp):
        problem = weakness(found)
        if problem is not None:
            return probe(found, problem, ok=True)
    return probe(found, Problem("", ""), ok=True)


def probe(found: Finding, problem: Problem, *, ok: bool) -> Probe:
    """A probe with its facts."""
    level = runtime_level(found.runtime, found.info)
    return Probe("docker", ok, level, problem.reason, problem.cure, facts(found))


def runtime_level(runtime: str | None, info: Mapping[str, Any]) -> Isolation:
    """A runtime with a kernel of its own isolates more than a container."""
    own_kernel = any(word.startswith(KERNEL_RUNTIMES) for word in runtime_words(runtime, info))
    return Isolation.KERNEL if own_kernel else Isolation.CONTAINER


def is_gvisor(runtime: str | None, info: Mapping[str, Any]) -> bool:
    """Whether it is gVisor, whose processes are several on the host."""
    return any(word.startswith("runsc") for word in runtime_words(runtime, info))


def runtime_words(runtime: str | None, info: Mapping[str, Any]) -> list[str]:
    """What a runtime is: its program, else the words of its shim's type."""
    name = runtime or str(info.get("DefaultRuntime") or "runc")
    entry = info.get("Runtimes", {}).get(name) or {}
    program = PurePosixPath(str(entry.get("path") or "")).name
    # A shim's type is like io.containerd.kata.v2.
    return [program] if program else str(entry.get("runtimeType") or name).split(".")


def engine_problem(found: Finding) -> Problem | None:
    """An engine of another kind, or too old."""
    if found.info.get("OSType", "linux") != "linux":
        return Problem(
            "the engine runs containers of another system than Linux",
            "switch Docker to Linux containers",
        )
    text = str(found.version.get("ApiVersion", ""))
    if text and api_numbers(text) < OLDEST_API:
        version = found.version.get("Version", "unknown")
        return Problem(
            f"the engine is too old: {version} speaks API {text}, needed is 1.40",
            "install Docker 20.10 or newer",
        )
    return None


def api_numbers(text: str) -> tuple[int, ...]:
    """A version as numbers; one that cannot be read counts as the oldest."""
    parts = text.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else (0,)


def runtime_problem(found: Finding) -> Problem | None:
    """A runtime that the engine does not have."""
    name = found.runtime
    runtimes = found.info.get("Runtimes", {})
    # Names of containerd shims need no entry in the engine's configuration.
    if name is None or name in runtimes or name.startswith("io.containerd."):
        return None
    known = ", ".join(sorted(runtimes)) or "none"
    return Problem(
        f"the engine has no runtime {name!r} (it has: {known})",
        f"install it and name it in the engine's daemon.json: "
        f'{{"runtimes": {{"{name}": {{"path": "/usr/bin/{name}"}}}}}}',
    )


def limits_problem(found: Finding) -> Problem | None:
    """Limits that the engine itself says it cannot set."""
    missing = [
        name
        for key, name in (("MemoryLimit", "memory"), ("PidsLimit", "processes"))
        if found.info.get(key) is False
    ]
    if not missing:
        return None
    what = " and ".join(missing)
    if not rootless(found.info):
        return Problem(
            f"the engine cannot limit {what}",
            "boot with the memory and pids controllers on (cgroup_enable=memory), or use cgroup v2",
        )
    if str(found.info.get("CgroupVersion", "1")) == "1":
        return Problem(
            f"a rootless engine cannot limit {what} on cgroup v1",
            "boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1), or use a rootful engine",
        )
    return Problem(
        f"the rootless engine was not given the controllers to limit {what}",
        "let systemd delegate them: Delegate=cpu cpuset io memory pids in "
        "/etc/systemd/system/user@.service.d/delegate.conf",
    )


def trial_problem(found: Finding) -> Problem | None:
    """Limits that were set and did not hold."""
    trial = found.trial
    if trial is None:
        return None
    runtime = found.runtime or str(found.info.get("DefaultRuntime") or "the default runtime")
    if trial.error:
        return Problem(
            f"a container could not be tried with {runtime}: {trial.error}",
            cure_for(trial.error),
        )
    failed = [
        name
        for holds, name in ((trial.holds_memory, "memory"), (trial.holds_processes, "processes"))
        if not holds
    ]
    if not failed:
        return None
    return Problem(
        f"{runtime} does not enforce the limit of {' and '.join(failed)}: a container exceeded it",
        "remove --ignore-cgroups from the runtime's arguments in daemon.json"
        if runtime_level(found.runtime, found.info) is Isolation.KERNEL
        else "check the engine's cgroup driver and controllers (docker info)",
    )


def cure_for(error: str) -> str:
    """What to do about a container that did not start."""
    if "cannot run with network enabled in root network namespace" in error:
        # An old runsc on a new kernel takes the box's network namespace for the host's.
        return 'add "--network=none" to the runtime\'s runtimeArgs in daemon.json'
    if "cannot create sandbox" in error or "did not end within" in error:
        return (
            "give the runtime another platform in daemon.json "
            '(runsc: "--platform=systrap", or "--platform=ptrace" for old versions)'
        )
    return "see the engine's log; try: docker run --rm --network none IMAGE"


def no_trial(found: Finding) -> Problem | None:
    """Nothing could be tried, as there is no image."""
    if found.trial is not None:
        return None
    return Problem(
        "no image is built yet, so whether limits hold could not be tried",
        "stockade images build python",
    )


def no_swap_limit(found: Finding) -> Problem | None:
    """Memory is limited, swap beside it is not."""
    if found.info.get("SwapLimit") is not False:
        return None
    return Problem(
        "the engine cannot limit swap: a box may use swap beyond its memory limit",
        "boot with swapaccount=1, or switch swap off",
    )


def no_seccomp(found: Finding) -> Problem | None:
    """The engine's own system call filter is off; the supervisor's remains."""
    options = security_options(found.info)
    if any(o.startswith("name=seccomp") and "unconfined" not in o for o in options) or not options:
        return None
    return Problem(
        "the engine applies no seccomp profile; the supervisor's own filter stands alone",
        "use an engine built with seccomp and its default profile",
    )


def security_options(info: Mapping[str, Any]) -> Sequence[str]:
    """What the engine says of its security, as texts like ``name=seccomp,profile=default``."""
    return [str(option) for option in info.get("SecurityOptions") or []]


def rootless(info: Mapping[str, Any]) -> bool:
    """Whether the engine runs without root."""
    return any(option.startswith("name=rootless") for option in security_options(info))


def facts(found: Finding) -> dict[str, str]:
    """For people: what this rests on."""
    info = found.info
    known = {
        "engine": found.version.get("Version"),
        "api": found.version.get("ApiVersion"),
        "endpoint": found.endpoint.url,
        "way": "gvisor" if is_gvisor(found.runtime, info) else None,
        "remote": None if found.endpoint.local else "yes",
        "cgroup": info.get("CgroupVersion"),
        "runtime": found.runtime or info.get("DefaultRuntime"),
        "runtimes": ", ".join(sorted(info.get("Runtimes", {}))),
        "security": "; ".join(security_options(info)),
        "kernel": info.get("KernelVersion"),
        "storage": info.get("Driver"),
    }
    trial = found.trial
    if trial is not None and trial.python is not None:
        known["limits tried"] = (
            f"{trial.processes} processes, {trial.memory_mib} MiB"
            f"{', survived' if trial.survived else ', then killed'}"
        )
    return {name: str(value) for name, value in known.items() if value}


def warning_problem(warnings: Sequence[str]) -> str:
    """A limit that the create call dropped, said only as a warning there; else ""."""
    for text in warnings:
        if "discarded" in text.lower() and "swap" not in text.lower():
            return text
    return ""
