"""The session that answers from a script."""

from __future__ import annotations

import pytest

from policies import Isolation, PathCheck, Pipeline, Stage
from runners import (
    Ending,
    Fault,
    FileData,
    LostError,
    Outcome,
    Program,
    ScriptedSession,
    Written,
)

LS = Pipeline((Stage(("ls",)),))


async def test_outcomes_come_in_order_and_one_too_many_is_a_lost_box(tmp_path) -> None:
    first, second = Outcome(Ending.EXITED, 0), Outcome(Ending.EXITED, 1)
    session = ScriptedSession([first, second])
    assert [await session.run(LS), await session.run(LS, cwd="src")] == [first, second]
    with pytest.raises(LostError, match="2 outcomes, and one more was run"):
        await session.run(LS)
    assert [run.cwd for run in session.runs] == [".", "src", "."]


async def test_files_are_kept_and_paths_stay_inside() -> None:
    session = ScriptedSession(files={"a.txt": "abc"})
    assert await session.read_file("a.txt", offset=1) == FileData("a.txt", b"bc", 1, 3, 0o644)
    assert await session.write_file("b/c", b"x") == Written("b/c", 1, created=True)
    for path in ("../a", "/etc/passwd", "b/../../x"):
        for found in (await session.read_file(path), await session.write_file(path, b"")):
            assert isinstance(found, Fault)
            assert (found.code, found.path) == ("path-escape", path)


async def test_checks_know_files_and_folders() -> None:
    session = ScriptedSession(files={"src/a.py": ""})
    checks = [
        PathCheck(1, "src/a.py", "file"),
        PathCheck(2, "src", "dir"),
        PathCheck(3, "src", "file"),
        PathCheck(4, "src/a.py", "dir"),
        PathCheck(5, "../x"),
        PathCheck(6, "new"),
    ]
    faults = await session.check(checks)
    assert [(fault.check.word, fault.reason) for fault in faults] == [
        (3, "value-type"),
        (4, "value-type"),
        (5, "path-escape"),
    ]


async def test_programs_are_those_of_the_script() -> None:
    anything, some = ScriptedSession(), ScriptedSession(programs={"git": "/opt/git"})
    assert await anything.resolve("x", ("/usr/bin",)) == Program("x", "/usr/bin/x", "/usr/bin/x")
    assert await anything.resolve("x", ()) is None
    assert await some.resolve("git", ("/usr/bin",)) == Program("git", "/opt/git", "/opt/git")
    assert await some.resolve("ls", ("/usr/bin",)) is None


async def test_output_is_passed_on_and_archives_are_not_there(tmp_path) -> None:
    from runners import Capture

    got: list[tuple[str, bytes]] = []

    async def take(stream: str, data: bytes) -> None:
        got.append((stream, data))

    outcome = Outcome(Ending.EXITED, 0, stdout=Capture(b"out", b"", 3))
    session = ScriptedSession([outcome], isolation=Isolation.PROCESS)
    await session.run(LS, on_output=take)
    assert got == [("stdout", b"out")]
    for archive in (session.put_tree, session.get_tree):
        with pytest.raises(LostError, match="no archives"):
            await archive(tmp_path / "x.tar")
    await session.close()
    assert session.closed
