"""The container of a session, as it is asked of the engine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import Limits
from runners.docker.spec import HOME, ContainerOptions, container_spec, sizes_for

MIB = 1 << 20


def spec(**changes):
    options = {
        "image": "sha256:0",
        "command": ["/usr/bin/python3", "-I"],
        "user": (1000, 1000),
        "limits": Limits(),
    }
    return container_spec(ContainerOptions(**options | changes))


def host(**changes):
    return spec(**changes)["HostConfig"]


def tmpfs(options: str) -> dict[str, str]:
    return dict(part.partition("=")[::2] for part in options.split(","))


def test_the_box_ends_with_the_connection_that_was_attached_before_its_start():
    made = spec()
    asked = {key: made[key] for key in ("OpenStdin", "StdinOnce", "AttachStdin", "Tty")}
    assert asked == {"OpenStdin": True, "StdinOnce": True, "AttachStdin": True, "Tty": False}
    assert made["HostConfig"]["AutoRemove"] is True


def test_the_box_has_no_privilege():
    config = host()
    assert config["CapDrop"] == ["ALL"]
    assert config["SecurityOpt"] == ["no-new-privileges:true"]
    assert config["ReadonlyRootfs"] is True
    assert config["Privileged"] is False
    assert spec()["User"] == "1000:1000"


def test_the_box_has_no_network():
    assert host()["NetworkMode"] == "none"


def test_a_box_of_root_is_refused():
    with pytest.raises(ValueError, match="uid 0"):
        spec(user=(0, 0))


def test_the_memory_limit_holds_programs_and_files_and_leaves_no_swap():
    config = host(limits=Limits(memory_mib=100, disk_mib=50))
    assert (config["Memory"], config["MemorySwap"]) == (150 * MIB, 150 * MIB)


def test_the_supervisor_does_not_use_up_the_processes_of_programs():
    assert host(limits=Limits(processes=100))["PidsLimit"] == 116


def test_nothing_of_the_protocol_is_logged_on_the_host():
    assert host()["LogConfig"] == {"Type": "none", "Config": {}}


def test_the_first_process_is_the_supervisor_itself():
    made = spec()
    assert made["HostConfig"]["Init"] is False
    assert (made["Entrypoint"], made["Cmd"]) == (["/usr/bin/python3", "-I"], [])


def test_the_engine_makes_no_working_folder_below_our_mounts():
    assert spec()["WorkingDir"] == "/"


def test_variables_of_the_image_do_not_reach_the_box():
    env = spec(image_env=["PATH=/evil", "TOKEN=1", "EMPTY="])["Env"]
    assert "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" in env
    assert [entry for entry in env if "=" not in entry] == ["EMPTY", "TOKEN"]


def test_a_volume_that_the_image_declares_becomes_a_sized_folder_in_memory():
    assert "size=" in host(image_volumes=["/var/lib/data"])["Tmpfs"]["/var/lib/data"]


def test_every_writable_folder_is_the_users_own_and_sized():
    mounts = host(limits=Limits(memory_mib=1024, disk_mib=512))["Tmpfs"]
    assert {path: tmpfs(text)["size"] for path, text in mounts.items()} == {
        "/workspace": "384m",
        "/tmp": "128m",
        "/tests": "64m",
        "/logs": "64m",
        "/solution": "64m",
        HOME: "64m",
        "/dev/shm": "64m",
    }
    for text in mounts.values():
        options = tmpfs(text)
        assert (options["uid"], options["gid"], options["mode"]) == ("1000", "1000", "0700")
        assert {"exec", "nosuid", "nodev"} <= options.keys()
        assert int(options["nr_inodes"]) == int(options["size"][:-1]) * 256


def test_in_place_the_workspace_is_the_operators_folder_and_protected_paths_are_read_only():
    config = host(bind="/home/me/p", protect=[".git/hooks"])
    assert "/workspace" not in config["Tmpfs"]
    assert [(m["Source"], m["Target"], m["ReadOnly"]) for m in config["Mounts"]] == [
        ("/home/me/p", "/workspace", False),
        ("/home/me/p/.git/hooks", "/workspace/.git/hooks", True),
    ]


def test_a_workspace_on_disk_is_a_volume():
    config = host(on_disk="v")
    assert "/workspace" not in config["Tmpfs"]
    assert [(m["Type"], m["Source"], m["Target"]) for m in config["Mounts"]] == [
        ("volume", "v", "/workspace")
    ]


def test_without_in_place_nothing_of_the_host_is_mounted():
    assert host()["Mounts"] == []


def test_a_runtime_and_processors_are_asked_for_only_when_named():
    assert {"Runtime", "NanoCpus"} & host().keys() == set()
    config = host(runtime="runsc", cpus=1.5)
    assert (config["Runtime"], config["NanoCpus"]) == ("runsc", 1_500_000_000)


def test_a_core_file_of_one_byte_starts_no_handler_of_the_host():
    limits = {entry["Name"]: entry["Hard"] for entry in host()["Ulimits"]}
    assert limits["core"] == 1
    assert "nproc" not in limits


some_limits = st.builds(
    Limits,
    memory_mib=st.integers(1, 1 << 20),
    disk_mib=st.integers(2, 1 << 20),
    processes=st.integers(1, 1 << 15),
    open_files=st.integers(1, 1 << 20),
)


@given(some_limits)
def test_workspace_and_tmp_are_the_disk_limit(limits):
    sizes = sizes_for(limits)
    assert sizes.workspace + sizes.tmp == limits.disk_mib


@given(some_limits.filter(lambda limits: limits.memory_mib >= 16))
def test_full_folders_leave_most_of_the_memory_to_programs(limits):
    sizes = sizes_for(limits)
    assert 4 * sizes.side <= limits.memory_mib / 4
