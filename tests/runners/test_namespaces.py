"""Why a machine gives no namespaces, told from what it says: recorded words, no machine needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.namespaces import KernelSettings, explain

BWRAP = "/usr/bin/bwrap"
OPEN = KernelSettings(None, 1, 96364)
IN_CONTAINER = KernelSettings(None, None, 96364, container=True)

RECORDED = [
    pytest.param(
        "bwrap: setting up uid map: Permission denied",
        KernelSettings(apparmor_restricts=1, max_user_namespaces=127000),
        "AppArmor keeps /usr/bin/bwrap from using user namespaces "
        "(kernel.apparmor_restrict_unprivileged_userns is 1)",
        id="ubuntu-24.04-uid-map",
    ),
    pytest.param(
        "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
        KernelSettings(apparmor_restricts=1, max_user_namespaces=127000),
        "AppArmor keeps /usr/bin/bwrap from using user namespaces "
        "(kernel.apparmor_restrict_unprivileged_userns is 1)",
        id="ubuntu-24.04-loopback",
    ),
    pytest.param(
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow "
        "non-privileged user namespaces.",
        KernelSettings(unprivileged_clone=0, max_user_namespaces=63000),
        "unprivileged user namespaces are switched off (kernel.unprivileged_userns_clone is 0)",
        id="debian-10-sysctl",
    ),
    pytest.param(
        "bwrap: Creating new namespace failed: No space left on device",
        KernelSettings(max_user_namespaces=0),
        "user namespaces are switched off (user.max_user_namespaces is 0)",
        id="rhel-hardening",
    ),
    pytest.param(
        "bwrap: Creating new namespace failed: No space left on device",
        OPEN,
        "the limit on user namespaces is reached (user.max_user_namespaces)",
        id="limit-reached",
    ),
    pytest.param(
        "bwrap: No permissions to creating new namespace, likely because the kernel does not "
        "allow non-privileged user namespaces. On e.g. debian this can be enabled with "
        "'sysctl kernel.unprivileged_userns_clone=1'.",
        IN_CONTAINER,
        "the container around us forbids new namespaces",
        id="docker-default-seccomp",
    ),
    pytest.param(
        "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
        IN_CONTAINER,
        "the container around us hides parts of /proc, so /usr/bin/bwrap cannot mount one",
        id="docker-masked-proc",
    ),
    pytest.param(
        "stockade launcher: unshare: Operation not permitted",
        OPEN,
        "this kernel or a security profile gives no user namespaces",
        id="launcher-unshare",
    ),
    pytest.param(
        "bwrap: setting up uid map: Permission denied",
        OPEN,
        "a security profile keeps /usr/bin/bwrap from using its user namespace",
        id="unknown-profile",
    ),
    pytest.param(
        "warming up\nbwrap: execvp /usr/bin/python3: No such file or directory",
        OPEN,
        "/usr/bin/bwrap cannot start: bwrap: execvp /usr/bin/python3: No such file or directory",
        id="its-own-words",
    ),
    pytest.param("", OPEN, "/usr/bin/bwrap cannot start: it said nothing", id="silent"),
]


@pytest.mark.parametrize(("words", "settings", "reason"), RECORDED)
def test_a_refusal_is_told_in_one_sentence_with_a_cure(
    words: str, settings: KernelSettings, reason: str
) -> None:
    refusal = explain(words, settings, program=BWRAP)
    assert refusal.reason == reason
    assert refusal.cure


def test_settings_are_read_from_the_kernel_and_missing_ones_are_none(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "user").mkdir()
    (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("1\n")
    (tmp_path / "user/max_user_namespaces").write_text("15000\n")
    settings = KernelSettings.read(tmp_path)
    seen = settings.apparmor_restricts, settings.unprivileged_clone, settings.max_user_namespaces
    assert seen == (1, None, 15000)
