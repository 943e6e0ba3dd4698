"""The docker box: a container whose first process is the supervisor."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from weakref import WeakKeyDictionary

from policies import Isolation
from runners.contract import Probe, Session, SessionSpec
from runners.docker.assess import Finding, assess, is_gvisor, runtime_level
from runners.docker.endpoint import find_endpoint
from runners.docker.engine import Engine
from runners.docker.fault import NoEngineError
from runners.docker.image import BoxImage, find_image
from runners.docker.interpreter import TOOLS_LABEL
from runners.docker.labels import LABEL, LEASE_SECONDS, Labels
from runners.docker.place import place_of
from runners.docker.proof import Proofs, state_folder
from runners.docker.prover import Prover
from runners.docker.spec import (
    GVISOR,
    HOME,
    PLAIN,
    ContainerOptions,
    container_paths,
)
from runners.docker.start import clear, is_transient, start
from runners.docker.sweep import NAME_PREFIX, is_leftover
from runners.docker.volume import remove_volume, volume_is_leftover
from runners.errors import RunnerError, UnavailableError
from runners.owner import Owner
from runners.setup import CONTAINER_COUNTERS, Setup
from runners.supervisor import payload

__all__ = ["DockerRunner"]

ATTEMPTS = 3
PAUSE_SECONDS = 0.2
STARTS_AT_ONCE = 2 * (os.cpu_count() or 1)
"""More at once only make each of them slower."""

OWN_IMAGE = "python"


class DockerRunner:
    """Sessions in containers of the engine that the docker command would use."""

    def __init__(
        self,
        engine: Engine | None = None,
        *,
        runtime: str | None = None,
        image: str = OWN_IMAGE,
        cpus: float | None = None,
        proofs: Proofs | None = None,
    ) -> None:
        """A runner.

        Args:
            engine: another one than the environment names.
            runtime: the OCI runtime of sessions that name none, and of ``probe``.
            image: the image that ``probe`` tries, and whose interpreter images without one get.
            cpus: processors that one box may use at once; None for all.
            proofs: where results of trials are remembered.
        """
        self._given = engine
        self._runtime = runtime
        self._image = image
        self._cpus = cpus
        self._proofs = proofs or Proofs(state_folder())
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )
        self._proving: Prover | None = None
        self._found: dict[str | None, Finding] = {}

    @property
    def name(self) -> str:
        """Of the box."""
        return "docker"

    async def probe(self) -> Probe:
        """Ask the engine, and exceed tiny limits in a container once per boot."""
        try:
            found = await self._finding(self._runtime)
            if found.trial is None:
                try:
                    image = await find_image(self._engine(), self._image)
                except UnavailableError as error:
                    if isinstance(error, NoEngineError):
                        raise
                    return assess(found)
                spec = SessionSpec(run="probe", runtime=self._runtime)
                options = self._options(found, image, spec)
                found = await self._tried(found, image, options)
            return assess(found)
        except NoEngineError as error:
            return Probe("docker", False, Isolation.CONTAINER, error.reason, error.cure)
        except RunnerError as error:
            return Probe("docker", False, Isolation.CONTAINER, str(error), "docker info")

    async def open(self, spec: SessionSpec) -> Session:
        """Start a container and its supervisor.

        A fault of the engine is tried again, with another container; that is safe, since no
        program has started yet.
        """
        spec = replace(spec, runtime=spec.runtime or self._runtime)
        async with self._turn():
            try:
                return await self._open_once(spec)
            except RunnerError as error:
                if not is_transient(error):
                    raise
            return await self._open_again(spec)

    async def sweep(self) -> Sequence[str]:
        """Remove containers and volumes of dead harnesses; what cannot be judged stays."""
        engine = self._engine()
        try:
            found = await engine.containers(LABEL)
        except NoEngineError:
            return []
        removed: list[str] = []
        for container in found:
            if is_leftover(container, time.time()):
                await engine.remove(str(container["Id"]))
                removed.append(str(container["Names"][0]).lstrip("/"))
        for volume in await engine.volumes(LABEL):
            name = str(volume["Name"])
            if volume_is_leftover(volume) and await remove_volume(engine, name):
                removed.append(name)
        for volume in await engine.volumes(TOOLS_LABEL):
            name, image = str(volume["Name"]), str(volume["Labels"][TOOLS_LABEL])
            # An interpreter is made again when it is needed; that of a lost image never is.
            if await engine.image(image) is None and await remove_volume(engine, name):
                removed.append(name)
        return removed

    async def close(self) -> None:
        """Close connections for control; open sessions have their own."""
        if self._given is not None:
            await self._given.close()

    def _engine(self) -> Engine:
        if self._given is None:
            self._given = Engine(find_endpoint(os.environ, Path.home()))
        return self._given

    async def _finding(self, runtime: str | None) -> Finding:
        """What the engine says, asked once."""
        if runtime not in self._found:
            engine = self._engine()
            version, info, _ = await asyncio.gather(
                engine.version(),
                engine.info(),  # the engine takes its time for it: enough to get ready
                asyncio.to_thread(get_ready),
            )
            self._found[runtime] = Finding(engine.endpoint, version, info, runtime)
        return self._found[runtime]

    def _turn(self) -> asyncio.Semaphore:
        """A semaphore belongs to one event loop, a runner need not."""
        loop = asyncio.get_running_loop()
        return self._turns.setdefault(loop, asyncio.Semaphore(STARTS_AT_ONCE))

    def _prover(self) -> Prover:
        if self._proving is None:
            self._proving = Prover(self._engine(), self._proofs, self._image)
        return self._proving

    async def _tried(self, found: Finding, image: BoxImage, options: ContainerOptions) -> Finding:
        """The finding with a trial of this image."""
        if not assess(replace(found, trial=None)).ok:
            return found
        found = replace(found, trial=await self._prover().prove(found, image, options))
        if assess(found).ok:
            self._found[found.runtime] = found
        return found

    def _options(self, found: Finding, image: BoxImage, spec: SessionSpec) -> ContainerOptions:
        place = place_of(self._engine().endpoint, spec, image.user)
        return ContainerOptions(
            image=image.id,
            command=(),
            user=place.user,
            limits=spec.limits,
            image_env=image.env,
            image_volumes=image.volumes,
            workspace=spec.workspace,
            bind=place.bind,
            on_disk="volume" if place.on_disk else "",
            protect=spec.protect if place.bind is not None else (),
            runtime=spec.runtime,
            tasks=GVISOR if is_gvisor(spec.runtime, found.info) else PLAIN,
            cpus=self._cpus,
        )

    async def _open_again(self, spec: SessionSpec) -> Session:
        """The attempts after the first, each after a pause."""
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential

        retrying = AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS - 1),
            wait=wait_exponential(multiplier=2 * PAUSE_SECONDS, max=2),
            retry=retry_if_exception(is_transient),
            reraise=True,
        )
        await asyncio.sleep(PAUSE_SECONDS)
        async for attempt in retrying:
            with attempt:
                return await self._open_once(spec)
        raise AssertionError("the last attempt raises")

    async def _open_once(self, spec: SessionSpec) -> Session:
        engine = self._engine()
        image = await find_image(engine, spec.image)
        found = await self._finding(spec.runtime)
        options = self._options(found, image, spec)
        found = await self._tried(found, image, options)
        verdict = assess(found)
        if not verdict.ok or found.trial is None:
            raise UnavailableError(f"{verdict.reason}; {verdict.cure}")
        launch = await self._prover().launch(found.trial)
        session = secrets.token_hex(8)
        name = f"{NAME_PREFIX}{session}"
        labels = Labels(session, spec.run, Owner.me()).mapping()
        options = launch.apply(replace(options, labels=labels), payload().argv(launch.python))
        if options.on_disk:
            say_on_disk(spec)
            options = replace(options, on_disk=f"{name}-workspace")
        channel, _ = await asyncio.gather(
            # A volume can only be removed after its container.
            start(engine, options, name, brief=spec.brief and not options.on_disk),
            asyncio.to_thread(import_module, "runners.client"),  # the engine takes longer
        )
        from runners.client import connect

        return await connect(
            channel,
            setup_for(spec),
            id=session,
            isolation=runtime_level(spec.runtime, found.info),
            image=image.lock,
            on_close=partial(clear, engine, options),
        )


def get_ready() -> None:
    """Import and pack what the next start needs."""
    import sandbox_images  # noqa: F401

    payload()


def say_on_disk(spec: SessionSpec) -> None:
    """Tell the operator that one limit does not hold."""
    if spec.notice is not None:
        spec.notice(
            f"the workspace of {spec.workspace_mib} MiB does not fit into its share of the disk "
            f"limit of {spec.limits.disk_mib} MiB: it is on the engine's disk, where its size is "
            "not limited"
        )


def setup_for(spec: SessionSpec) -> Setup:
    """What the supervisor is told in a container."""
    paths = container_paths(spec.workspace)
    base = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "TMPDIR": paths["tmp"],
    }
    return Setup(
        roots=dict(paths),
        limits=spec.limits,
        env=tuple((base | dict(spec.env)).items()),
        pid1=True,
        alone=True,
        nproc=False,
        own_network=True,
        set_uid=spec.in_place is None,
        landlock=(),  # only its scopes: the programs of one call do not signal those of another
        lease_seconds=float(LEASE_SECONDS),
        counters=CONTAINER_COUNTERS,
        poll=False,
    )
