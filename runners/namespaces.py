"""Why this machine gives no user namespaces: a pure decision on what its kernel says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["KernelSettings", "Refusal", "explain"]

SYSCTL = Path("/proc/sys")
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """What decides about user namespaces; None where the kernel has no such setting.

    Attributes:
        apparmor_restricts: `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu 24.04).
        unprivileged_clone: `kernel.unprivileged_userns_clone` (older Debian).
        max_user_namespaces: `user.max_user_namespaces` (0 on hardened systems).
        container: this process runs inside a container.
    """

    apparmor_restricts: int | None = None
    unprivileged_clone: int | None = None
    max_user_namespaces: int | None = None
    container: bool = False

    @classmethod
    def read(cls, sysctl: Path = SYSCTL) -> KernelSettings:
        """What this kernel says."""
        return cls(
            number(sysctl / "kernel/apparmor_restrict_unprivileged_userns"),
            number(sysctl / "kernel/unprivileged_userns_clone"),
            number(sysctl / "user/max_user_namespaces"),
            any(Path(mark).exists() for mark in CONTAINER_MARKS),
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a box does not work here, in one sentence, and what would help."""

    reason: str
    cure: str


def explain(message: str, settings: KernelSettings, *, program: str) -> Refusal:
    """Why `program` (bwrap, or our own launcher) could not start with this message."""
    for known in (by_settings, by_place, by_message):
        refusal = known(message, settings, program)
        if refusal is not None:
            return refusal
    last = (message.strip().splitlines() or ["it said nothing"])[-1]
    return Refusal(f"{program} cannot start: {last}", "run `stockade doctor --json` for its words")


def by_settings(_: str, settings: KernelSettings, program: str) -> Refusal | None:
    """A switch of the kernel is off."""
    if settings.max_user_namespaces == 0:
        return Refusal(
            "user namespaces are switched off (user.max_user_namespaces is 0)",
            "sysctl user.max_user_namespaces=15000",
        )
    if settings.unprivileged_clone == 0:
        return Refusal(
            "unprivileged user namespaces are switched off (kernel.unprivileged_userns_clone is 0)",
            "sysctl kernel.unprivileged_userns_clone=1",
        )
    if settings.apparmor_restricts == 1:
        return Refusal(
            f"AppArmor keeps {program} from using user namespaces "
            "(kernel.apparmor_restrict_unprivileged_userns is 1)",
            f"add an AppArmor profile for {program} with the line `userns,`, "
            "or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        )
    return None


def by_place(message: str, settings: KernelSettings, program: str) -> Refusal | None:
    """The container around us forbids it."""
    if not settings.container:
        return None
    if "proc" in message and "ermitted" in message:
        return Refusal(
            f"the container around us hides parts of /proc, so {program} cannot mount one",
            "start the container with --security-opt systempaths=unconfined, or use another box",
        )
    if "ermission" in message or "ermitted" in message:
        return Refusal(
            "the container around us forbids new namespaces",
            "start the container with --security-opt seccomp=unconfined "
            "--security-opt systempaths=unconfined, or use the host's Docker engine",
        )
    return None


def by_message(message: str, _: KernelSettings, program: str) -> Refusal | None:
    """What the message itself tells."""
    if "creating new namespace" in message or "unshare" in message:
        return Refusal(
            "this kernel or a security profile gives no user namespaces",
            "allow user namespaces for this user, or use another box",
        )
    if "RTM_NEWADDR" in message or "uid map" in message:
        return Refusal(
            f"a security profile keeps {program} from using its user namespace",
            f"allow `userns` for {program} in the profile of this machine",
        )
    if "No space left" in message or "ENOSPC" in message:
        return Refusal(
            "the limit on user namespaces is reached (user.max_user_namespaces)",
            "raise user.max_user_namespaces, or end other sandboxes",
        )
    return None


def number(path: Path) -> int | None:
    """The integer in a file of the kernel, None where there is none."""
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):
        return None
