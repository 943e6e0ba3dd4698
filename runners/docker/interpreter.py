"""An interpreter for images that have none: a read-only volume filled from an image of ours.

It holds Python with its standard library, its own loader and its own shared libraries, so it runs
beside any libc or none. Programs of the image are started as ever, by their own loader.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runners.docker.attach import Demultiplexer, attach
from runners.docker.engine import Engine
from runners.docker.labels import Labels
from runners.docker.spec import ContainerOptions, container_spec
from runners.docker.stream import dial
from runners.errors import StartError
from runners.owner import Owner

__all__ = ["TOOLS_LABEL", "VOLUME_PYTHON", "Launch", "interpreter_volume"]

MOUNT = "/stockade"
VOLUME_PYTHON = f"{MOUNT}/python/bin/python3"
TOOLS_LABEL = "stockade.python"
COMPLETE = "complete"
PACK_SECONDS = 120.0
LIMIT_BYTES = 512 << 20
READ_BYTES = 1 << 18

PACK = r"""
import os, sys, tarfile
import _ctypes, _hashlib, _socket, ctypes, hashlib, json, re, select, signal, socket, struct, zlib
library = os.path.dirname(os.__file__)
dynamic = os.path.join(library, "lib-dynload")
for name in sorted(os.listdir(dynamic)) if os.path.isdir(dynamic) else ():
    try:
        __import__(name.split(".")[0])
    except Exception:
        pass
maps = [line.split(None, 5) for line in open("/proc/self/maps")]
mapped = sorted({parts[5].strip() for parts in maps if len(parts) == 6 and parts[5][0] == "/"})
shared = [path for path in mapped if ".so" in os.path.basename(path) and "lib-dynload" not in path]
executable = os.path.realpath("/proc/self/exe")
out = tarfile.open(fileobj=sys.stdout.buffer, mode="w|", format=tarfile.GNU_FORMAT)
def add(path, name):
    info = tarfile.TarInfo(name)
    info.size = os.stat(path).st_size
    info.mode = 0o755
    with open(path, "rb") as file:
        out.addfile(info, file)
for path in shared:
    add(path, "python/lib/" + os.path.basename(path))
    if os.path.basename(path).startswith(("ld-linux", "ld-musl")):
        add(path, "python/lib/loader")
add(executable, "python/bin/python3")
base = "python/lib/" + os.path.basename(library)
skip = {"test", "idlelib", "lib2to3", "ensurepip", "tkinter", "__pycache__", "site-packages",
        "dist-packages", "turtledemo", "pydoc_data"}
for folder, folders, names in os.walk(library):
    folders[:] = sorted(set(folders) - skip)
    for name in sorted(names):
        path = os.path.join(folder, name)
        if name.endswith((".py", ".so")) and os.path.isfile(path):
            add(path, base + path[len(library):])
out.addfile(tarfile.TarInfo("python/complete"))
out.close()
sys.stdout.buffer.flush()
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """How Python is started in a box.

    Attributes:
        python: absolute path of the interpreter in the box.
        volume: the volume that it is in, None for the image's own.
    """

    python: str
    volume: str | None = None

    def apply(self, options: ContainerOptions, words: Sequence[str]) -> ContainerOptions:
        """The container that starts these words, of which the first is the interpreter."""
        if self.volume is None:
            return replace(options, command=list(words))
        # Its own loader with its own libraries: the image may have another libc, or none.
        libraries = f"{MOUNT}/python/lib"
        command = [f"{libraries}/loader", "--library-path", libraries, *words]
        return replace(options, command=command, tools=(self.volume, MOUNT))


async def interpreter_volume(engine: Engine, options: ContainerOptions, python: str) -> Launch:
    """The volume that holds the interpreter of one of our images; filled when it is not yet.

    Args:
        engine: where the volume is.
        options: a container of the image whose interpreter it is.
        python: where that image has it.
    """
    volume = f"stockade-python-{options.image.removeprefix('sha256:')[:16]}"
    await engine.call(lambda api: api.create_volume(volume, labels={TOOLS_LABEL: options.image}))
    name = f"stockade-fill-{secrets.token_hex(6)}"
    labels = Labels(name, "fill", Owner.me()).mapping()
    # Never started: the engine unpacks into a volume of a container that was only created.
    spec = container_spec(replace(options, command=["fill"], labels=labels))
    spec["HostConfig"]["Mounts"] = [{"Type": "volume", "Source": volume, "Target": MOUNT}]
    try:
        container, _ = await engine.create(spec, name)
        if not await engine.has_path(container, f"{MOUNT}/python/{COMPLETE}"):
            packed = await pack(engine, replace(options, labels=labels), python)
            await engine.put(container, MOUNT, packed)
    finally:
        await asyncio.shield(engine.remove(name))
    return Launch(VOLUME_PYTHON, volume)


async def pack(engine: Engine, options: ContainerOptions, python: str) -> bytes:
    """The interpreter as a tar archive, written by itself in a container of its image."""
    name = f"stockade-pack-{secrets.token_hex(6)}"
    spec = container_spec(replace(options, command=[python, "-I", "-S", "-c", PACK]))
    parts = Demultiplexer()
    packed = bytearray()
    try:
        container, _ = await engine.create(spec, name)
        stream = await dial(engine.endpoint)
        try:
            await attach(stream, await engine.api_version(), container)
            async with asyncio.timeout(PACK_SECONDS):
                await engine.start(container)
                while data := await stream.read(READ_BYTES):
                    parts.feed(data)
                    while piece := parts.take(READ_BYTES):
                        packed += piece
                    if len(packed) > LIMIT_BYTES:
                        raise StartError("the interpreter of the image is larger than 512 MiB")
        finally:
            await stream.close()
    finally:
        await asyncio.shield(engine.remove(name))
    if f"python/{COMPLETE}".encode() not in packed[-20480:]:
        words = parts.stderr.decode("utf-8", "replace").strip()
        raise StartError(f"the interpreter of the image could not be packed: {words}")
    return bytes(packed)
