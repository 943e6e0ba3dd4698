"""Verified means verified: a fresh session, a copy of the result, the task's own tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.task import Check
from harness.verify.command import Wanted, verify_by_command
from harness.verify.place import expand_word, need_fixed_paths, task_environment
from harness.verify.scene import Scene
from harness.verify.script import verify_by_script
from harness.verify.verification import Verification
from policies import Limits
from runners import Session
from runners.workspace import put_folder

__all__ = ["verify"]


async def verify(
    session: Session,
    check: Check,
    scene: Scene,
    limits: Limits,
    *,
    published: Path | None = None,
) -> Verification:
    """Put the scene into a fresh session and run the task's verifier there.

    ``published`` holds what the agent's box left below its logs for the verifier.
    """
    limits = replace(limits, wall_seconds=min(limits.wall_seconds, check.seconds))
    await put_folder(session, scene.result, root="workspace")
    if scene.tests is not None:
        await put_folder(session, scene.tests, root="tests")
    for file in check.beside:
        await session.write_file(file.name, file.read_bytes(), root="tests", mode=0o755)
    if published is not None:
        await put_folder(session, published, root="logs")
    here = task_environment(session)
    check = replace(check, env=tuple((k, expand_word(v, here)) for k, v in check.env))
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
