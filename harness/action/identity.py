"""Which file in the box a program's name stands for."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from policies import PathCheck, Pipeline, Stage, Verdict
from runners import Program, Root, Session

__all__ = ["IdentityFault", "executable"]

_Known = dict[tuple[str, tuple[str, ...]], Program]
_known: WeakKeyDictionary[Session, _Known] = WeakKeyDictionary()
"""A name is resolved once a session."""

_digests: WeakKeyDictionary[Session, dict[str, str]] = WeakKeyDictionary()


class IdentityFault(Exception):  # noqa: N818 - a verdict, no error of ours
    """A program that has no identity the policy may trust."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


async def executable(session: Session, verdict: Verdict, word: str, cwd: str) -> str:
    """The absolute path to execute for an argv[0] that was allowed, or IdentityFault."""
    if not verdict.search:
        return await _in_workspace(session, word, cwd)
    name = verdict.program or word
    known = _known.setdefault(session, {})
    program = known.get((name, verdict.search))
    if program is None:
        program = await session.resolve(name, verdict.search)
        if program is None:
            raise IdentityFault("no-such-program", f"there is no program {name!r} in this box")
        known[name, verdict.search] = program
    _trusted(session.paths, program, verdict)
    if verdict.sha256:
        await _pinned(session, program, verdict.sha256)
    return program.path


def _trusted(paths: Mapping[Root, str], program: Program, verdict: Verdict) -> None:
    """A program counts only where nothing that runs in the box can have put it."""
    for root in paths.values():
        for path in (program.path, program.found):
            if path == root or path.startswith(root.rstrip("/") + "/"):
                text = f"{program.name!r} stands for a file that the box itself can change"
                raise IdentityFault("program-path", text)
    if verdict.paths and program.path not in verdict.paths:
        text = f"{program.name!r} is {program.path} here, which the policy does not name"
        raise IdentityFault("program-path", text)


async def _pinned(session: Session, program: Program, wanted: str) -> None:
    """A pinned program must be the very file; the box's own tool computes its digest, once."""
    digests = _digests.setdefault(session, {})
    if program.path not in digests:
        stage = Stage(("sha256sum", "--", program.path))
        outcome = await session.run(Pipeline((stage,)))
        digests[program.path] = outcome.stdout.text()[:64] if outcome.ok else ""
    found = digests[program.path]
    if found != wanted.removeprefix("sha256:").lower():
        what = f"has the digest {found}" if found else "could not be read for its digest"
        text = f"{program.name!r} is pinned by the policy, and {program.path} {what}"
        raise IdentityFault("program-digest", text)


async def _in_workspace(session: Session, word: str, cwd: str) -> str:
    """A program of the workspace, executed by its own path; its link is not followed."""
    faults = await session.check([PathCheck(0, word, "file")], cwd)
    if faults:
        raise IdentityFault(faults[0].reason, faults[0].message)
    folder = posixpath.join(session.paths["workspace"], cwd)
    return posixpath.normpath(posixpath.join(folder, word))
