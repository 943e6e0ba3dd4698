"""BubblewrapRunner: opens sessions in boxes made by bwrap, as root and as anybody."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from policies import Isolation, Limits
from runners.bubblewrap.binary import Binary, find_binary
from runners.bubblewrap.start import USER, start
from runners.cgroup import memory_holder
from runners.child import Child
from runners.client import connect
from runners.contract import Probe, Session, SessionSpec
from runners.errors import RunnerError, StartError, UnavailableError
from runners.hold import Hold, session_id
from runners.layout import Layout
from runners.namespaces import KernelSettings, explain
from runners.setup import CONTAINER_COUNTERS, Setup
from runners.supervisor import payload
from runners.system import box_layout, program_environment
from runners.uid import sweep_uids

__all__ = ["BubblewrapRunner"]


class BubblewrapRunner:
    """The box of level namespace that needs no daemon and no privilege."""

    name = "bubblewrap"
    isolation = Isolation.NAMESPACE

    def __init__(self) -> None:
        self._binary: Binary | None = None

    async def probe(self) -> Probe:
        """Start a real box with `true` in it."""
        facts: dict[str, str] = {}
        try:
            binary = await asyncio.to_thread(find_binary)
            facts["binary"] = binary.path
            facts["version"] = f"{binary.version.major}.{binary.version.minor}"
            image = await self._try(binary)
        except (UnavailableError, StartError) as error:
            reason, _, cure = str(error).partition(": ")
            return Probe(self.name, False, self.isolation, reason, cure, facts)
        facts |= {
            "memory": memory_holder(),
            "image": image,
            "user": "own uid" if os.geteuid() == 0 else "own user namespace",
        }
        weaker = ""
        if image == "host":
            weaker = "no image is built, so programs are the host's own"
        return Probe(self.name, True, self.isolation, weaker, "", facts)

    async def open(self, spec: SessionSpec) -> Session:
        """A new box with a supervisor in it."""
        if spec.runtime is not None:
            raise UnavailableError(f"runtime {spec.runtime!r} needs the docker box")
        name = session_id(spec.run)
        if self._binary is None:
            self._binary = await asyncio.to_thread(find_binary)
        hold = Hold.take(spec, name)
        try:
            layout = box_layout(spec, USER, dropped=hold.user is not None)
            load = payload()
            child = await self._start(self._binary, layout, load.argv(layout.python), hold)
        except BaseException:
            await asyncio.to_thread(hold.release)
            raise

        async def release() -> None:
            # The end of bwrap is the end of the PID namespace: nothing can be left in it.
            await asyncio.to_thread(hold.release, proven=True)

        setup = Setup(
            roots=dict(layout.roots),
            limits=spec.limits,
            env=program_environment(spec, layout.roots),
            pid1=True,
            alone=True,
            nproc=True,
            own_network=True,
            set_uid=spec.in_place is None,
            landlock=(),
            counters=CONTAINER_COUNTERS if hold.group else {},
            poll=hold.group is None,
            inodes=layout.inodes,  # bwrap gives a tmpfs a size, no number of inodes
        )
        return await connect(
            child.channel,
            setup,
            id=name,
            isolation=self.isolation,
            image=layout.image,
            on_close=release,
            entered=child.entered,
        )

    async def sweep(self) -> Sequence[str]:
        """Cleanse the uids of dead sessions; a user's boxes leave nothing behind."""
        return await asyncio.to_thread(sweep_uids)

    async def _start(
        self, binary: Binary, layout: Layout, command: Sequence[str], hold: Hold
    ) -> Child:
        try:
            return await start(binary, layout, command, hold, waits=True)
        except StartError as error:
            raise await asyncio.to_thread(refused, binary.path, str(error)) from error

    async def _try(self, binary: Binary) -> str:
        """Run `true` in a box; the name of the image, or the reason why not."""
        spec = SessionSpec(run="probe", limits=Limits(disk_mib=16))
        hold = Hold.take(spec, session_id("probe"))
        try:
            layout = box_layout(spec, USER, dropped=hold.user is not None)
            child = await start(binary, layout, ["/bin/sh", "-c", ":"], hold)
            words = await child.trial()
            if words:
                raise refused(binary.path, words)
            return layout.image["name"]
        except StartError as error:
            raise refused(binary.path, str(error)) from error
        finally:
            await asyncio.to_thread(hold.release)


def refused(program: str, words: str) -> RunnerError:
    """Why bwrap did not start, in one sentence with a cure."""
    refusal = explain(words, KernelSettings.read(), program=program)
    return UnavailableError(f"{refusal.reason}: {refusal.cure}")
