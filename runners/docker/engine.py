"""Control calls to the engine, in threads, with errors in our words.

What every session asks for goes through ``control.py``, all else through the SDK. Both block; the
streams of a box, which must not, are in ``attach.py``.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

from runners.docker.bridge import Bridge
from runners.docker.control import CALL_SECONDS, Control
from runners.docker.endpoint import Endpoint
from runners.docker.fault import EngineFaultError, explain

__all__ = ["Engine"]

T = TypeVar("T")
Client: TypeAlias = Any  # the SDK's stubs do not know all the calls that are used here

REMOVE_SECONDS = 10.0
NO_SUCH = 404
CONFLICT = 409
END_SECONDS = 2.0
THREADS = 4 * (os.cpu_count() or 1)


class Engine:
    """One engine. Its methods raise EngineFaultError, or an UnavailableError with a cure."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._client: Client | None = None
        self._control: Control | None = None
        self._bridge: Bridge | None = None
        self._bridging = asyncio.Lock()
        self._reached = endpoint
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="stockade-docker")

    async def api_version(self) -> str:
        """The version of the API that both sides speak."""
        return await self._ask(lambda control: control.version)

    async def info(self) -> dict[str, Any]:
        """What the engine says of itself."""
        return dict(await self._ask(lambda control: control.ask("GET", "info")))

    async def version(self) -> dict[str, Any]:
        """Versions of the engine and of its parts."""
        return await self._ask(lambda control: control.about)

    async def image(self, name: str) -> dict[str, Any] | None:
        """A local image by name, id or digest; None when there is none. Never pulls."""
        return await self._find(lambda control: control.ask("GET", "images", name, "json"))

    async def create(self, spec: dict[str, Any], name: str) -> tuple[str, list[str]]:
        """Create a container; its id, and what the engine warns of."""
        query = {"name": name}
        made = await self._ask(
            lambda control: control.ask("POST", "containers/create", query=query, body=spec)
        )
        return str(made["Id"]), [str(text) for text in made.get("Warnings") or []]

    async def start(self, container: str) -> None:
        """Start a created container."""
        await self._ask(lambda control: control.ask("POST", "containers", container, "start"))

    async def inspect(self, container: str) -> dict[str, Any] | None:
        """A container's state, None when there is none."""
        return await self._find(lambda control: control.ask("GET", "containers", container, "json"))

    async def remove(self, container: str) -> None:
        """Kill and remove a container with its anonymous volumes; returns when it is gone.

        None is no error.
        """
        try:
            query = {"force": True, "v": True}
            await self._ask(
                lambda control: control.ask("DELETE", "containers", container, query=query)
            )
        except EngineFaultError as fault:
            if fault.status == CONFLICT:  # it is being removed already
                await self.wait_gone(container, REMOVE_SECONDS)
            elif fault.status != NO_SUCH:
                raise

    async def wait_gone(self, container: str, seconds: float) -> bool:
        """Wait for a container's removal; False when it is still there after so long."""
        query = {"condition": "removed"}
        try:
            await self._find(
                lambda control: control.ask(
                    "POST", "containers", container, "wait", query=query, seconds=seconds
                )
            )
            return True
        except EngineFaultError:
            return await self.inspect(container) is None

    async def containers(self, label: str) -> list[dict[str, Any]]:
        """All containers with a label, running or not."""
        query = {"all": True, "filters": {"label": [label]}}
        return list(
            await self._ask(lambda control: control.ask("GET", "containers/json", query=query))
        )

    async def volumes(self, label: str) -> list[dict[str, Any]]:
        """All volumes with a label."""
        query = {"filters": {"label": [label]}}
        listed = await self._ask(lambda control: control.ask("GET", "volumes", query=query))
        return list(listed.get("Volumes") or [])

    async def end_of(self, container: str, since: float) -> list[dict[str, Any]]:
        """What happened to a container up to its end, waiting for that for a moment."""

        def look(api: Client) -> list[dict[str, Any]]:
            stream = api.events(
                since, time.time() + END_SECONDS, filters={"container": container}, decode=True
            )
            seen: list[dict[str, Any]] = []
            try:
                for event in stream:
                    seen.append(event)
                    if event.get("Action") == "die":
                        break
            finally:
                stream.close()
            return seen

        return await self._call(look)

    async def put(self, container: str, folder: str, tar: bytes) -> None:
        """Unpack an archive into a folder of a container that was only created."""
        await self._call(lambda api: api.put_archive(container, folder, tar))

    async def has_path(self, container: str, path: str) -> bool:
        """Whether a container, running or not, has a file."""

        def look(api: Client) -> bool:
            chunks, _ = api.get_archive(container, path)
            chunks.close()
            return True

        return await found(self._call(look)) is not None

    async def call(self, function: Callable[[Client], T]) -> T:
        """Any other control call."""
        return await self._call(function)

    async def close(self) -> None:
        """Close the connections; the engine may be used again."""
        with self._lock:
            client, self._client = self._client, None
            self._control = None
        if client is not None:
            client.close()
        bridge, self._bridge = self._bridge, None
        if bridge is not None:
            await bridge.close()

    async def _find(self, function: Callable[[Control], T]) -> T | None:
        """The answer of a frequent call, None for what does not exist."""
        return await found(self._ask(function))

    async def _ask(self, function: Callable[[Control], T]) -> T:
        """A frequent call."""
        await self._bridged()
        if self._control is None:
            self._control = Control(self.endpoint, self._reached)
        control = self._control
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: function(control)
        )

    async def _call(self, function: Callable[[Client], T]) -> T:
        def call() -> T:
            from docker.errors import DockerException
            from requests.exceptions import RequestException

            try:
                reach(self._reached)
                return function(self._connected())
            except (DockerException, RequestException, OSError) as error:
                raise explain(error, self.endpoint) from error

        await self._bridged()
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _bridged(self) -> None:
        """The way to an engine behind ssh is a socket of our own."""
        if self.endpoint.kind == "ssh":
            async with self._bridging:
                if self._bridge is None:
                    self._bridge = Bridge(self.endpoint)
                    self._reached = await self._bridge.start()

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = client_for(self._reached)
            return self._client


async def found(answer: Awaitable[T]) -> T | None:
    """An answer, None where the engine has no such thing."""
    try:
        return await answer
    except EngineFaultError as fault:
        if fault.status == NO_SUCH:
            return None
        raise


def reach(endpoint: Endpoint) -> None:
    """Connect once: the SDK loses the socket of a connection that fails, and its errno."""
    if endpoint.kind == "unix":
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(CALL_SECONDS)
            probe.connect(endpoint.address)


def client_for(endpoint: Endpoint) -> Client:
    """The SDK's client, its API version negotiated (None asks the engine)."""
    from docker import APIClient
    from docker.tls import TLSConfig

    class DirectClient(APIClient):
        """The environment's proxies and authorities are for the web, not for the engine.

        The HTTP library would let REQUESTS_CA_BUNDLE replace the authority that is given here.
        """

        trust_env = property(lambda _: False, lambda _, __: None)

    options: dict[str, Any] = {"version": None, "timeout": CALL_SECONDS, "max_pool_size": THREADS}
    if endpoint.tls is not None:
        authority, certificate, key = endpoint.tls.files()
        options["tls"] = TLSConfig(
            client_cert=(str(certificate), str(key)),
            ca_cert=str(authority) if endpoint.tls.verify else None,
            verify=endpoint.tls.verify,
        )
    return DirectClient(base_url=endpoint.url, **options)
