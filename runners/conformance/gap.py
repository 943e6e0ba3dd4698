"""Known gaps: checks that a box cannot pass, with the reason; each is tried all the same."""

from __future__ import annotations

from collections.abc import Mapping

from runners.contract import Probe

__all__ = ["known_gaps"]

NO_NAMESPACES = "without a mount namespace the workspace lies on a disk of the host"
OWN_USER = "without root nothing takes the bounding set away; no_new_privs makes it moot"

NO_LANDLOCK = "gVisor has no Landlock: a program may signal another call's programs"
FIRST_PROCESS = (
    "in gVisor 2022 a program can kill the first process; the box ends, nothing gets out"
)
OPEN_PROC = "gVisor 2022 lets the same user read /proc of an undumpable process; no secret is there"
WHOLE_BOX = "at the host's limit gVisor's kernel ends, and the whole box with it"

GAPS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("docker", "gvisor"): {
        "a-program-cannot-end-another-call": NO_LANDLOCK,
        "the-supervisor-cannot-be-harmed": FIRST_PROCESS,
        "the-memory-of-the-supervisor-is-closed": OPEN_PROC,
        "memory-is-limited": WHOLE_BOX,
        "shared-memory-is-limited-too": WHOLE_BOX,
        "processes-are-limited": WHOLE_BOX,
    },
    ("process", "own uid"): {"space-is-limited": NO_NAMESPACES},
    ("process", "landlock"): {
        "a-program-has-no-privileges": OWN_USER,
        "space-is-limited": NO_NAMESPACES,
    },
}


def known_gaps(probe: Probe) -> Mapping[str, str]:
    """What is known to be missing in a box as it was found here."""
    return GAPS.get((probe.name, probe.facts.get("way", "")), {})
