"""What an engine can hold is decided from what it says and from what was tried.

Only the first of these engines was really met; the texts of the others are made from the engines'
documentation.
"""

from __future__ import annotations

import pytest

from policies import Isolation
from runners.docker.assess import Finding, assess, runtime_level, warning_problem
from runners.docker.endpoint import Endpoint
from runners.docker.trial import Trial

SOCKET = Endpoint("unix", "/var/run/docker.sock")
HOLDS = Trial(python=(3, 11), path="/usr/bin/python3", processes=23, memory_mib=114)

ROOTFUL_V1 = {
    "ID": "I2R3:SOCA",
    "OSType": "linux",
    "CgroupVersion": "1",
    "CgroupDriver": "cgroupfs",
    "MemoryLimit": True,
    "SwapLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SecurityOptions": ["name=seccomp,profile=default"],
    "DefaultRuntime": "runc",
    "Runtimes": {"io.containerd.runc.v2": {"path": "runc"}, "runc": {"path": "runc"}},
}
ROOTFUL_V2 = ROOTFUL_V1 | {
    "CgroupVersion": "2",
    "CgroupDriver": "systemd",
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"],
}
ROOTLESS = ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"]
ROOTLESS_V1 = ROOTFUL_V1 | {
    "CgroupDriver": "none",
    "MemoryLimit": False,
    "SwapLimit": False,
    "PidsLimit": False,
    "SecurityOptions": ROOTLESS,
}
ROOTLESS_V2 = ROOTFUL_V2 | {"SecurityOptions": ROOTLESS}
ROOTLESS_V2_UNDELEGATED = ROOTLESS_V1 | {"CgroupVersion": "2"}
NO_MEMORY_CONTROLLER = ROOTFUL_V1 | {"MemoryLimit": False, "SwapLimit": False}
WITH_RUNSC = ROOTFUL_V1 | {
    "Runtimes": {"runc": {"path": "runc"}, "runsc": {"path": "/usr/bin/runsc", "runtimeArgs": []}}
}
WITH_KATA_SHIM = ROOTFUL_V2 | {
    "Runtimes": {"kata": {"runtimeType": "io.containerd.kata.v2"}, "runc": {"path": "runc"}}
}
NEW = {"Version": "28.2.2", "ApiVersion": "1.50"}


def judged(info, *, trial=HOLDS, runtime=None, version=NEW, endpoint=SOCKET):
    return assess(Finding(endpoint, version, info, runtime, trial))


@pytest.mark.parametrize("info", [ROOTFUL_V1, ROOTFUL_V2, ROOTLESS_V2])
def test_an_engine_whose_limits_hold_is_good(info):
    probe = judged(info)
    assert (probe.ok, probe.isolation, probe.reason) == (True, Isolation.CONTAINER, "")


@pytest.mark.parametrize(
    ("info", "reason", "cure"),
    [
        (ROOTLESS_V1, "rootless engine cannot limit memory and processes on cgroup v1", "v2"),
        (ROOTLESS_V2_UNDELEGATED, "not given the controllers", "Delegate="),
        (NO_MEMORY_CONTROLLER, "cannot limit memory", "cgroup_enable=memory"),
        (ROOTFUL_V2 | {"OSType": "windows"}, "another system than Linux", "Linux containers"),
    ],
)
def test_an_engine_that_cannot_limit_is_refused_with_its_cure(info, reason, cure):
    probe = judged(info)
    assert not probe.ok
    assert reason in probe.reason
    assert cure in probe.cure


def test_an_engine_that_is_too_old_is_refused():
    probe = judged(ROOTFUL_V1, version={"Version": "18.09", "ApiVersion": "1.39"})
    assert (probe.ok, "18.09 speaks API 1.39" in probe.reason) == (False, True)


def test_a_runtime_that_the_engine_lacks_is_refused_and_those_it_has_are_named():
    probe = judged(ROOTFUL_V1, runtime="runsc")
    assert not probe.ok
    assert probe.reason == (
        "the engine has no runtime 'runsc' (it has: io.containerd.runc.v2, runc)"
    )


@pytest.mark.parametrize(
    ("trial", "what"),
    [
        (Trial(python=(3, 11), processes=160, memory_mib=100), "processes"),
        (Trial(python=(3, 11), processes=20, memory_mib=256, survived=True), "memory"),
        (
            Trial(python=(3, 11), processes=160, memory_mib=256, survived=True),
            "memory and processes",
        ),
    ],
)
def test_limits_that_a_container_exceeded_are_none_whatever_the_engine_says(trial, what):
    probe = judged(WITH_RUNSC, trial=trial, runtime="runsc")
    assert (probe.ok, probe.reason) == (
        False,
        f"runsc does not enforce the limit of {what}: a container exceeded it",
    )
    assert "--ignore-cgroups" in probe.cure


def test_a_trial_that_could_not_run_is_a_refusal_with_its_words():
    probe = judged(ROOTFUL_V1, trial=Trial(error="exec format error"))
    assert (probe.ok, "exec format error" in probe.reason) == (False, True)


def test_without_an_image_the_box_works_and_the_missing_trial_is_said():
    probe = judged(ROOTFUL_V1, trial=None)
    assert (probe.ok, probe.cure) == (True, "stockade images build python")


@pytest.mark.parametrize(
    ("change", "word"),
    [({"SwapLimit": False}, "swap"), ({"SecurityOptions": ["name=apparmor"]}, "seccomp")],
)
def test_a_weakness_is_said_and_no_refusal(change, word):
    probe = judged(ROOTFUL_V1 | change)
    assert (probe.ok, word in probe.reason, probe.cure != "") == (True, True, True)


@pytest.mark.parametrize(
    ("runtime", "info", "level"),
    [
        (None, ROOTFUL_V1, Isolation.CONTAINER),
        ("runc", ROOTFUL_V1, Isolation.CONTAINER),
        ("runsc", WITH_RUNSC, Isolation.KERNEL),
        ("kata", WITH_KATA_SHIM, Isolation.KERNEL),
        ("io.containerd.kata.v2", ROOTFUL_V2, Isolation.KERNEL),
        ("safe", {"Runtimes": {"safe": {"path": "/opt/gvisor/runsc"}}}, Isolation.KERNEL),
        ("kataish", {"Runtimes": {"kataish": {"path": "/usr/bin/crun"}}}, Isolation.CONTAINER),
        (None, WITH_RUNSC | {"DefaultRuntime": "runsc"}, Isolation.KERNEL),
    ],
)
def test_only_a_runtime_with_a_kernel_of_its_own_has_the_highest_level(runtime, info, level):
    assert runtime_level(runtime, info) is level


def test_a_remote_engine_is_said_to_be_one():
    assert judged(ROOTFUL_V1, endpoint=Endpoint("tcp", "far:2376")).facts["remote"] == "yes"


@pytest.mark.parametrize(
    ("warning", "dropped"),
    [
        ("Your kernel does not support memory limit capabilities. Limitation discarded.", True),
        ("Your kernel does not support pids limit capabilities. PIDs limit discarded.", True),
        ("Your kernel does not support swap limit. Memory limited without swap.", False),
        ("", False),
    ],
)
def test_a_limit_that_the_engine_dropped_with_a_mere_warning_is_noticed(warning, dropped):
    assert bool(warning_problem([warning])) is dropped


def test_what_the_trial_said_is_read_line_by_line():
    output = "python 3 11\nprocesses 23\nmemory 1\nmemory 114\n"
    assert Trial.read(output) == Trial(python=(3, 11), processes=23, memory_mib=114)
    assert Trial.read(output + "end\n").survived
    assert Trial.read("garbage") == Trial()
