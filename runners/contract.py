"""The contract of every box: a Runner opens Sessions; one conformance suite holds them to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from policies import Isolation, Limits, PathCheck, Pipeline

if TYPE_CHECKING:
    from runners.outcome import (
        Fault,
        FileData,
        Found,
        Listing,
        Match,
        Outcome,
        Program,
        Written,
    )

__all__ = [
    "ROOTS",
    "OnOutput",
    "PathFault",
    "Probe",
    "Root",
    "Runner",
    "Session",
    "SessionSpec",
]

Root = Literal["workspace", "tests", "logs", "solution", "tmp"]
ROOTS: tuple[Root, ...] = ("workspace", "tests", "logs", "solution", "tmp")
"""Folders of a box that can be reached by name. All are empty and writable at the start."""

OnOutput = Callable[[Literal["stdout", "stderr"], bytes], Awaitable[None]]
"""Receives output as it comes. A slow one slows the program, it never grows memory."""


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What a session is to be.

    Attributes:
        run: id of the run, for labels and sweeping.
        image: name of an image (decision 1), or of a Docker image for the docker box.
        workspace: absolute path of the workspace in the box (the process box without a mount
            namespace uses a host folder instead; ``Session.paths`` says which).
        limits: session-wide maxima; each call may have smaller ones.
        env: variables beside the base environment (PATH HOME LANG TMPDIR).
        in_place: a host folder to bind as the workspace instead of an empty one.
        protect: with in_place, paths below the workspace that are bound read-only.
        runtime: an OCI runtime of the engine (docker box only).
        workspace_mib: size of what will be copied in, 0 where it is not known. The docker box puts
            a workspace that does not fit into its share of ``disk_mib`` on the engine's disk.
        notice: receives a sentence for the operator where this session is weaker than asked.
        brief: the harness leaves with this session. Closing it then waits until every process of
            the box is gone, not for what the engine by itself removes after that.
    """

    run: str
    image: str = "python"
    workspace: str = "/workspace"
    limits: Limits = Limits()
    env: tuple[tuple[str, str], ...] = ()
    in_place: Path | None = None
    protect: tuple[str, ...] = ()
    runtime: str | None = None
    workspace_mib: int = 0
    notice: Callable[[str], None] | None = field(default=None, compare=False)
    brief: bool = False


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a box works on this machine.

    Attributes:
        name: process, bubblewrap or docker.
        ok: a session can be opened and keeps promise 4.
        isolation: its level here.
        reason: one sentence: why not, or what is weaker here; "" when all is well.
        cure: what would fix it; "" when nothing needs fixing.
        facts: what was found (versions, kernel features), for `stockade doctor`.
    """

    name: str
    ok: bool
    isolation: Isolation
    reason: str = ""
    cure: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PathFault:
    """A path operand whose real path is not what the policy allowed."""

    check: PathCheck
    reason: str  # path-escape, path-protected, value-type
    message: str


class Session(Protocol):
    """One box with one workspace for one run.

    Promises:
     1. A program gets exactly the argv, environment and cwd given, and descriptors 0, 1 and 2.
     2. When a call ends, for whatever reason, every process that it started is gone, and the
        other calls of the session run on.
     3. A call ends at its wall limit, or when its task is cancelled, within a second or two.
     4. What a program does wrong is an Outcome; a file operation that cannot be done is a Fault.
        A RunnerError means the box itself failed.
     5. Output beyond the limit is counted, not kept; head and tail are kept.
     6. Paths are resolved inside the box, below their root; nothing outside is read or written.
     7. When the harness dies, the box ends.
     8. What comes out of the box can at worst spoil its own call.
     9. Calls may overlap.
    10. close() leaves nothing behind, may be called twice, and has a deadline.
    11. A program reaches nothing outside its box: no network, no file, process or secret of the
        host or of another session, and nothing of the supervisor.
    12. A program gets at most its limits, and which one was reached is told on evidence.
    """

    @property
    def id(self) -> str:
        """Unique on this machine."""
        ...

    @property
    def isolation(self) -> Isolation:
        """The level this session really has."""
        ...

    @property
    def paths(self) -> Mapping[Root, str]:
        """Absolute path in the box of each root."""
        ...

    @property
    def image(self) -> Mapping[str, str]:
        """What runs inside, for the lock: name, id, and digest where a registry gave one."""
        ...

    async def resolve(self, name: str, search: Sequence[str]) -> Program | None:
        """The program that a bare name stands for on a search path of box folders."""
        ...

    async def check(
        self,
        checks: Sequence[PathCheck],
        cwd: str = ".",
        protect: Sequence[str] | None = None,
    ) -> Sequence[PathFault]:
        """Judge path operands on their real paths, below the workspace.

        ``protect`` are the names that a writable one may not run through, at any depth; the usual
        ones where None. UnresolvedError: the box did not say in time.
        """
        ...

    async def glob(self, pattern: str, cwd: str = ".", limit: int = 1000) -> Sequence[str]:
        """Names that a shell glob stands for: sorted, none hidden, none outside."""
        ...

    async def run(
        self,
        pipeline: Pipeline,
        *,
        cwd: str = ".",
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        programs: Sequence[str | None] = (),
        on_output: OnOutput | None = None,
    ) -> Outcome:
        """Run one pipeline to its end.

        Args:
            pipeline: its stages; standard input and redirections as they say.
            cwd: relative to the workspace, or absolute in the box.
            limits: for this call; the session's where None. The smaller of both holds.
            env: added to the base environment for every stage.
            programs: for each stage the absolute path to execute, argv[0] staying as written;
                None or missing: argv[0] is looked up on the fixed PATH.
            on_output: receives output as it comes, beside what is kept.

        Cancelling the awaiting task ends the call, kills its processes, and raises
        CancelledError.
        """
        ...

    async def read_file(
        self, path: str, *, root: Root = "workspace", offset: int = 0, limit: int = 1 << 20
    ) -> FileData | Fault:
        """Up to ``limit`` bytes of a regular file from ``offset``."""
        ...

    async def write_file(
        self,
        path: str,
        data: bytes,
        *,
        root: Root = "workspace",
        mode: int | None = None,
        expect: bytes | None = None,
    ) -> Written | Fault:
        """Write a file whole, making folders; keeps the mode of an existing one.

        ``expect`` is the sha256 of the content that is to be replaced: another content is the
        Fault ``changed``.
        """
        ...

    async def list_dir(
        self, path: str = ".", *, root: Root = "workspace", limit: int = 1000
    ) -> Listing | Fault:
        """Names of a folder."""
        ...

    async def find_files(
        self, pattern: str, path: str = ".", *, root: Root = "workspace", limit: int = 1000
    ) -> Found | Fault:
        """Regular files below ``path`` whose relative path matches a glob with ``**``."""
        ...

    async def search_text(
        self,
        pattern: str,
        path: str = ".",
        *,
        regex: bool = False,
        glob: str = "**",
        root: Root = "workspace",
        limit: int = 200,
    ) -> Sequence[Match] | Fault:
        """Lines that hold a text, or match a regular expression."""
        ...

    async def put_tree(self, tar: Path, *, root: Root = "workspace") -> None:
        """Unpack an archive that runners.workspace wrote into a root."""
        ...

    async def get_tree(self, tar: Path, *, root: Root = "workspace", limit_mib: int = 512) -> None:
        """Pack a root into an archive file for runners.workspace to read (strictly)."""
        ...

    async def close(self) -> None:
        """End the box and all in it; safe to repeat."""
        ...


class Runner(Protocol):
    """A way to open sessions: one per box."""

    @property
    def name(self) -> str:
        """process, bubblewrap or docker."""
        ...

    async def probe(self) -> Probe:
        """Try, really, whether this box works here."""
        ...

    async def open(self, spec: SessionSpec) -> Session:
        """Open a session, or raise UnavailableError / StartError saying why not."""
        ...

    async def sweep(self) -> Sequence[str]:
        """Remove what dead harnesses left (by label and lease), never anything else."""
        ...
