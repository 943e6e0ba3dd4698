"""The container of a session, as the engine's create call takes it. Pure: no engine is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from policies import Limits
from runners.contract import Root

__all__ = [
    "GVISOR",
    "HOME",
    "PLAIN",
    "ContainerOptions",
    "Sizes",
    "Tasks",
    "container_paths",
    "container_spec",
    "sizes_for",
]

HOME = "/home/box"


@dataclass(frozen=True, slots=True)
class Tasks:
    """What the host's limit of processes must hold for the box's own.

    Attributes:
        tasks: how processes of the box count on the host.
        each: host processes and threads that one process of the box costs.
    """

    reserve: int = 16  # the supervisor, its watching thread, its slots
    each: int = 1

    def limit(self, processes: int) -> int:
        """The limit to ask for."""
        return processes * self.each + self.reserve


PLAIN = Tasks()

GVISOR = Tasks(reserve=64, each=8)
"""gVisor has threads of its own, and shadows a process by several (ptrace: six were seen). A box
that reaches this limit ends as a whole."""

SHM = "/dev/shm"  # noqa: S108  # the box's own; the engine would mount it without an inode limit
SHM_MIB = 64  # the engine's own default; it counts as memory
INODE_BYTES = 4096  # an inode costs 1 KiB of memory that the size does not count

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sizes:
    """How the writable folders share memory, in MiB.

    ``workspace + tmp`` is the disk limit. The others come out of the memory limit, and together
    they never take more than a quarter of it.
    """

    workspace: int
    tmp: int
    side: int  # each of tests, logs, solution and home


def sizes_for(limits: Limits) -> Sizes:
    """The sizes under these limits."""
    tmp = max(1, limits.disk_mib // 4)
    side = max(1, min(64, limits.disk_mib // 8, limits.memory_mib // 16))
    return Sizes(max(1, limits.disk_mib - tmp), tmp, side)


def container_paths(workspace: str = "/workspace") -> Mapping[Root, str]:
    """Where the roots are in a container."""
    return {
        "workspace": workspace,
        "tests": "/tests",
        "logs": "/logs",
        "solution": "/solution",
        "tmp": "/tmp",  # noqa: S108  # the box's own, fresh and sized
    }


@dataclass(frozen=True, slots=True)
class ContainerOptions:
    """What a container is made from.

    Attributes:
        image: id of a local image; a name could be another image a moment later.
        command: the supervisor's argument vector.
        user: uid and gid, never 0.
        limits: of the session.
        labels: for sweeping.
        image_env: the image's variables, which the box does not get.
        image_volumes: folders that the image declares as volumes; unsized ones on the host's disk
            if they were left to the engine.
        workspace: path of the workspace in the box.
        bind: a host folder to be the workspace (``--in-place``), else it is a tmpfs.
        protect: paths below ``bind`` that are read-only.
        on_disk: a volume to be the workspace instead of a tmpfs; it has no size of its own.
        tools: a read-only volume with an interpreter, and where it is mounted.
        runtime: an OCI runtime of the engine, None for its default.
        tasks: how processes of the box count on the host.
        cpus: processors that the box may use at once, None for all.
    """

    image: str
    command: Sequence[str]
    user: tuple[int, int]
    limits: Limits
    labels: Mapping[str, str] = field(default_factory=dict)
    image_env: Sequence[str] = ()
    image_volumes: Sequence[str] = ()
    workspace: str = "/workspace"
    bind: str | None = None
    protect: Sequence[str] = ()
    on_disk: str = ""
    tools: tuple[str, str] | None = None
    runtime: str | None = None
    tasks: Tasks = PLAIN
    cpus: float | None = None


def container_spec(options: ContainerOptions) -> dict[str, Any]:
    """The body of ``POST /containers/create``."""
    uid, gid = options.user
    if uid == 0:
        raise ValueError("no box runs as uid 0")
    return {
        "Image": options.image,
        "Entrypoint": list(options.command),
        "Cmd": [],
        "Env": [*base_environment(), *foreign_names(options.image_env)],
        "User": f"{uid}:{gid}",
        # The engine would make a missing working folder with its own mode, below our mounts.
        "WorkingDir": "/",
        "Hostname": "box",
        "Domainname": "",
        "Labels": dict(options.labels),
        "Healthcheck": {"Test": ["NONE"]},
        "Volumes": {},
        # The box ends when the connection that was attached before the start ends.
        "OpenStdin": True,
        "StdinOnce": True,
        "Tty": False,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "StopSignal": "SIGKILL",
        "HostConfig": host_config(options),
    }


def base_environment() -> list[str]:
    """What the supervisor starts with; programs get what their session says."""
    return [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        f"HOME={HOME}",
        "LANG=C.UTF-8",
        "TMPDIR=/tmp",
    ]


def foreign_names(image_env: Sequence[str]) -> list[str]:
    """The image's own variables: a name without ``=`` removes one."""
    ours = {entry.partition("=")[0] for entry in base_environment()}
    names = {entry.partition("=")[0] for entry in image_env}
    return sorted(names - ours - {""})


def host_config(options: ContainerOptions) -> dict[str, Any]:
    """Isolation and limits."""
    limits = options.limits
    memory = (limits.memory_mib + limits.disk_mib) * MIB
    config: dict[str, Any] = {
        "AutoRemove": True,
        "NetworkMode": "none",
        "IpcMode": "private",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true"],
        "ReadonlyRootfs": True,
        "Privileged": False,
        "Init": False,
        "Memory": memory,
        "MemorySwap": memory,  # equal: no swap; unset would allow as much swap again
        "OomKillDisable": False,
        "PidsLimit": options.tasks.limit(limits.processes),
        "Ulimits": ulimits(limits),
        "Tmpfs": tmpfs_mounts(options),
        "Mounts": mounts(options),
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        # The default log driver would store every byte of the protocol on the host's disk.
        "LogConfig": {"Type": "none", "Config": {}},
    }
    if options.runtime is not None:
        config["Runtime"] = options.runtime
    if options.cpus is not None:
        config["NanoCpus"] = int(options.cpus * 1e9)
    return config


def ulimits(limits: Limits) -> list[dict[str, Any]]:
    """Upper bounds for everything in the box; each call gets its own, lower or equal.

    No ``nproc``: it counts the uid over all containers of the host, the pids limit does not.
    """
    values = {
        # A core file of one byte: with 0 a host's piped core handler would still be started.
        "core": 1,
        "nofile": max(limits.open_files, 1024),
        "memlock": 64 << 10,
        "msgqueue": 0,
        "nice": 0,
        "rtprio": 0,
        "sigpending": 1024,
        "locks": 4096,
    }
    return [{"Name": name, "Soft": value, "Hard": value} for name, value in values.items()]


def tmpfs_mounts(options: ContainerOptions) -> dict[str, str]:
    """The writable folders, each with a size and a number of inodes."""
    sizes = sizes_for(options.limits)
    paths = container_paths(options.workspace)
    mebibytes = dict.fromkeys(options.image_volumes, sizes.side)
    mebibytes |= {
        paths["workspace"]: sizes.workspace,
        paths["tmp"]: sizes.tmp,
        paths["tests"]: sizes.side,
        paths["logs"]: sizes.side,
        paths["solution"]: sizes.side,
        HOME: sizes.side,
    }
    if options.bind is not None or options.on_disk:
        del mebibytes[paths["workspace"]]
    found = {path: tmpfs_options(size, options.user) for path, size in mebibytes.items()}
    shared = max(1, min(SHM_MIB, options.limits.memory_mib // 8))
    return found | {SHM: tmpfs_options(shared, options.user)}


def tmpfs_options(mebibytes: int, user: tuple[int, int]) -> str:
    """Mount options: everything sized, nothing privileged, programs may be built and run."""
    uid, gid = user
    inodes = mebibytes * MIB // INODE_BYTES
    return (
        f"rw,exec,nosuid,nodev,size={mebibytes}m,nr_inodes={inodes},uid={uid},gid={gid},mode=0700"
    )


def mounts(options: ContainerOptions) -> list[dict[str, Any]]:
    """What comes from outside the container."""
    found: list[dict[str, Any]] = []
    if options.bind is not None:
        found.append(bind_mount(options.bind, options.workspace, read_only=False))
        for path in options.protect:
            inside = f"{options.workspace}/{path}"
            found.append(bind_mount(f"{options.bind}/{path}", inside, read_only=True))
    elif options.on_disk:
        found.append(volume_mount(options.on_disk, options.workspace, read_only=False))
    if options.tools is not None:
        volume, path = options.tools
        found.append(volume_mount(volume, path, read_only=True))
    return found


def bind_mount(source: str, target: str, *, read_only: bool) -> dict[str, Any]:
    """A folder or file of the engine's machine; mounts below it stay outside."""
    return {
        "Type": "bind",
        "Source": source,
        "Target": target,
        "ReadOnly": read_only,
        "BindOptions": {"Propagation": "private", "NonRecursive": True},
    }


def volume_mount(name: str, target: str, *, read_only: bool) -> dict[str, Any]:
    """A volume of the engine, as it is."""
    return {
        "Type": "volume",
        "Source": name,
        "Target": target,
        "ReadOnly": read_only,
        "VolumeOptions": {"NoCopy": True},
    }
