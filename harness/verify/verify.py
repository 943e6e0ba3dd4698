"""Verified means verified: a fresh session, a copy of the result, the task's own tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.task import Check
from harness.verify.command import Wanted, verify_by_command
from harness.verify.place import need_fixed_paths
from harness.verify.scene import leave_out, restore_tests, test_homes
from harness.verify.script import verify_by_script
from harness.verify.verification import Finding, Verification
from policies import Limits
from runners import Session
from runners.workspace import put_folder

__all__ = ["Scene", "set_scene", "verify"]


@dataclass(frozen=True, slots=True)
class Scene:
    """A result, ready to be verified.

    Attributes:
        result: the copy of the result, with the task's own tests in their places.
        tests: the task's tests folder, or None.
        homes: paths in the workspace that were restored, because wanted tests lie there.
        findings: start-up files that the agent added or changed.
    """

    result: Path
    tests: Path | None
    homes: tuple[str, ...]
    findings: tuple[Finding, ...]


def set_scene(
    check: Check,
    *,
    original: Path | None,
    result: Path,
    tests: Path | None,
    found: Iterable[tuple[str, str]],
) -> Scene:
    """Prepare a copy of the result, in place.

    Args:
        check: how it will be verified.
        original: the workspace as the agent got it, or None for an empty one.
        result: a folder of ours with the result; it is changed.
        tests: the task's tests folder.
        found: start-up files that the agent added or changed, each with the reason.
    """
    findings = leave_out(found, check, original, result)
    homes = test_homes(check, tests) if check.argv else ()
    restore_tests(homes, original, result)
    return Scene(result, tests, homes, findings)


async def verify(session: Session, check: Check, scene: Scene, limits: Limits) -> Verification:
    """Put the scene into a fresh session and run the task's verifier there."""
    limits = replace(limits, wall_seconds=min(limits.wall_seconds, check.seconds))
    await put_folder(session, scene.result, root="workspace")
    if scene.tests is not None:
        await put_folder(session, scene.tests, root="tests")
    if check.argv:
        found = await verify_by_command(
            session, check, limits, wanted_tests(session, check, scene), guarded(session, scene)
        )
    else:
        assert scene.tests is not None
        need_fixed_paths(session, scene.tests / "test.sh")
        found = await verify_by_script(session, check, limits)
    return replace(found, findings=scene.findings)


def wanted_tests(session: Session, check: Check, scene: Scene) -> tuple[Wanted, ...]:
    """The tests that must pass, each with its file: the task's own where it brings one."""
    wanted = []
    for test in check.tests:
        file = test.partition("::")[0]
        own = scene.tests is not None and (scene.tests / file).is_file()
        root = session.paths["tests"] if own else session.paths["workspace"]
        wanted.append(Wanted(test, f"{root}/{file}"))
    return tuple(wanted)


def guarded(session: Session, scene: Scene) -> tuple[str, ...]:
    """Files and folders that must be the same after the tests as before."""
    workspace = session.paths["workspace"]
    return (session.paths["tests"], *(f"{workspace}/{home}" for home in scene.homes))
