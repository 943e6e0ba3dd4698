"""ProcessRunner: opens sessions in boxes that need neither a daemon nor another program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from policies import Isolation
from runners.cgroup import memory_holder
from runners.child import start_child
from runners.client import connect
from runners.contract import Probe, Session, SessionSpec
from runners.entry import enter
from runners.errors import StartError, UnavailableError
from runners.hold import Hold, session_id
from runners.namespaces import KernelSettings, Refusal
from runners.process.launch import MAPPED_USER, Launcher, try_namespaces
from runners.process.plain import Premises, refuse_fixed_paths, rules, sweep_premises
from runners.process.way import Facts, Way, decide, landlock_abi
from runners.setup import CONTAINER_COUNTERS, Setup
from runners.supervisor import payload
from runners.system import box_layout, host_python, program_environment
from runners.uid import sweep_uids

__all__ = ["ProcessRunner"]

WEAKER = {
    Way.NAMESPACES: "",
    Way.OWN_UID: (
        "no namespaces, so programs see the host's process names and share its disk and network "
        "names, with a uid of their own"
    ),
    Way.LANDLOCK: (
        "no namespaces, so programs run as your own user: Landlock keeps them from other files, "
        "not from changing modes and times of yours, and the disk has no limit"
    ),
}


class ProcessRunner:
    """The box for machines without bubblewrap and Docker.

    Args:
        namespaces: False leaves out what would make it as strong as bubblewrap.
    """

    name = "process"

    def __init__(self, *, namespaces: bool = True) -> None:
        self._namespaces = namespaces
        self._facts: Facts | None = None

    async def probe(self) -> Probe:
        """Make namespaces, really, and see what else there is."""
        try:
            facts = await self._find_facts()
        except (UnavailableError, StartError) as error:
            reason, _, cure = str(error).partition(": ")
            return Probe(self.name, False, Isolation.PROCESS, reason, cure)
        way = decide(facts)
        told = {
            "landlock": f"ABI {facts.landlock}" if facts.landlock else "missing",
            "user": "own uid" if facts.root else "your own user",
            "memory": memory_holder(),
        }
        if isinstance(way, Refusal):
            return Probe(self.name, False, Isolation.PROCESS, way.reason, way.cure, told)
        told["way"] = way.value
        if facts.words:
            told["namespaces"] = facts.words
        return Probe(self.name, True, way.isolation, WEAKER[way], "", told)

    async def open(self, spec: SessionSpec) -> Session:
        """A new box with a supervisor in it."""
        if spec.runtime is not None:
            raise UnavailableError(f"runtime {spec.runtime!r} needs the docker box")
        way = decide(await self._find_facts())
        if isinstance(way, Refusal):
            raise UnavailableError(f"{way.reason}: {way.cure}")
        if way is Way.NAMESPACES:
            return await self._open_namespaces(spec)
        return await self._open_plain(spec, way)

    async def sweep(self) -> Sequence[str]:
        """Cleanse the uids of dead sessions, and remove their folders."""
        swept = await asyncio.to_thread(sweep_uids)
        return [*swept, *await asyncio.to_thread(sweep_premises)]

    async def _open_namespaces(self, spec: SessionSpec) -> Session:
        name = session_id(spec.run)
        launcher = await Launcher.start()
        hold = Hold()
        try:
            hold = Hold.take(spec, name)
            launcher.enter(hold.group)
            layout = box_layout(spec, hold.user or MAPPED_USER, dropped=hold.user is not None)
            child = await launcher.build(layout, payload().argv(layout.python), hold)
        except BaseException:
            await launcher.close()
            await asyncio.to_thread(hold.release)
            raise

        async def release() -> None:
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
        )
        isolation, image = Way.NAMESPACES.isolation, layout.image
        return await connect(
            child.channel,
            setup,
            id=name,
            isolation=isolation,
            image=image,
            on_close=release,
            entered=child.entered,
        )

    async def _open_plain(self, spec: SessionSpec, way: Way) -> Session:
        refuse_fixed_paths(spec)
        name = session_id(spec.run)
        python, prefix = host_python(closed=False)
        hold = Hold.take(spec, name)
        try:
            premises = Premises.make(name, hold.user)
        except BaseException:
            await asyncio.to_thread(hold.release)
            raise

        async def release() -> None:
            await asyncio.to_thread(hold.release)
            await asyncio.to_thread(premises.remove)

        try:
            child = await start_child(payload().argv(python))
            if hold.group is not None:  # it has no children before it is told more
                child = child.entering(enter(hold.group, child.process.pid))
        except BaseException:
            await release()
            raise
        uid, gid = hold.user or (None, None)
        setup = Setup(
            roots=dict(premises.roots),
            limits=spec.limits,
            env=(*program_environment(spec, premises.roots, premises.home), *premises.environment),
            uid=uid,
            gid=gid,
            preload=prefix is not None,  # Landlock closes it to slots
            alone=True,
            scope=way is Way.LANDLOCK,
            nproc=uid is not None,
            own_network=False,
            landlock=rules(premises),
            counters=hold.group.counters if hold.group else {},
            poll=hold.group is None,
        )
        return await connect(
            child.channel,
            setup,
            id=name,
            isolation=way.isolation,
            image={"name": "host"},
            on_close=release,
            entered=child.entered,
        )

    async def _find_facts(self) -> Facts:
        if self._facts is None:
            words = "left out" if not self._namespaces else await try_namespaces()
            settings = KernelSettings.read()
            proc = os.path.exists("/proc/self/stat")  # noqa: PTH110, ASYNC240 - no disk is asked
            self._facts = Facts(os.geteuid() == 0, words, landlock_abi(), settings, proc)
        return self._facts
