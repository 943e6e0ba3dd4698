"""The kernel's limits for the processes of a call. They hold for each process."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # imports for annotations cost milliseconds at start
    from typing import Any

__all__ = ["apply", "rlimits"]

MIB = 1024 * 1024

# The module with these names is imported after hello (dispatch.py); on Linux they never change.
CPU, FSIZE, DATA, STACK, CORE, NPROC, NOFILE, MEMLOCK = 0, 1, 2, 3, 4, 6, 7, 8
SIGPENDING, MSGQUEUE, NICE, RTPRIO = 11, 12, 13, 14
INFINITY = -1

DATA_LEAST = 16 * MIB
"""A slot lives under the limits it hands on; below this it could not start a program."""

FILES_LEAST = 24
"""Descriptors that a slot itself needs for a pipeline."""


def rlimits(limits: "dict[str, Any]", *, nproc: bool) -> "tuple[tuple[int, int, int], ...]":
    """(resource, soft, hard) for every limit; equal limits give an equal tuple."""
    cpu = max(1, int(limits["cpu_seconds"] + 0.999))
    data = max(DATA_LEAST, limits["memory_mib"] * MIB)
    size = limits["file_mib"] * MIB
    files = max(FILES_LEAST, limits["open_files"])
    found = [
        # The soft limit tells (SIGXCPU), the hard one ends who ignores it.
        (CPU, cpu, cpu + 1),
        (DATA, data, data),
        (FSIZE, size, size),
        (NOFILE, files, files),
        # 1 stops a core file and also a core handler, which would run as root on the host.
        (CORE, 1, 1),
        (STACK, 8 * MIB, 64 * MIB),
        (MEMLOCK, 64 * 1024, 64 * 1024),
        (MSGQUEUE, 0, 0),
        (NICE, 0, 0),
        (RTPRIO, 0, 0),
        (SIGPENDING, 4096, 4096),
    ]
    if nproc:
        most = limits["processes"]
        found.append((NPROC, most, most))
    return tuple(found)


def apply(wanted: "tuple[tuple[int, int, int], ...]") -> None:
    """Set limits on this process, or the stricter ones that it is under already."""
    import resource

    for number, soft, hard in wanted:
        now, most = resource.getrlimit(number)
        if under(now, soft) and under(most, hard):
            continue  # gVisor refuses to set some limits, even to what they are
        ceiling = hard if most == INFINITY else min(hard, most)
        resource.setrlimit(number, (min(soft, ceiling), ceiling))


def under(now: int, wanted: int) -> bool:
    """Whether a limit is as strict as wanted already."""
    return now != INFINITY and now <= wanted
