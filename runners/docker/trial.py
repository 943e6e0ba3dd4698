"""One throw-away container that exceeds tiny limits: what the engine says of limits is not proof.

A runtime may be set up to ignore them, and a rootless engine drops some without a word. The same
container tells whether the image has a Python that can carry the supervisor.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace

from policies import Limits
from runners.docker.attach import Demultiplexer, attach
from runners.docker.engine import Engine
from runners.docker.interpreter import Launch
from runners.docker.spec import ContainerOptions, container_spec
from runners.docker.stream import dial

__all__ = ["LIMITS", "Trial", "run_trial"]

LIMITS = Limits(memory_mib=96, disk_mib=32, processes=8)
PROCESSES = 160
MEBIBYTES = 256
SECONDS = 20.0
OUTPUT_BYTES = 1 << 16

SCRIPT = f"""
import os, sys
def say(*words): os.write(1, (" ".join(map(str, words)) + "\\n").encode())
say("python", *sys.version_info[:2])
children = []
try:
    while sys.argv[1:] != ["memory"] and len(children) < {PROCESSES}:
        pid = os.fork()
        if not pid:
            os.read(0, 1)
            os._exit(0)
        children.append(pid)
        say("processes", len(children))
except OSError:
    pass
for pid in children:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
kept = []
for number in range({MEBIBYTES}):
    kept.append(b"x" * (1 << 20) + bytes(number))
    say("memory", len(kept))
say("end")
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """What was seen.

    Attributes:
        python: version of the image's interpreter, None when it did not run.
        path: of that interpreter.
        processes: how many processes could be made under a limit that allows fewer.
        memory_mib: how much memory could be filled under a limit that allows less.
        survived: whether the program came to its end.
        error: why nothing ran, else "".
    """

    python: tuple[int, int] | None = None
    path: str = ""
    processes: int = 0
    memory_mib: int = 0
    survived: bool = False
    error: str = ""

    @property
    def holds_processes(self) -> bool:
        """The pids limit was enforced."""
        return self.python is not None and self.processes < PROCESSES

    @property
    def holds_memory(self) -> bool:
        """The memory limit was enforced."""
        return self.python is not None and self.memory_mib > 0 and not self.survived

    @classmethod
    def read(cls, output: str) -> Trial:
        """From the lines that the program wrote before it was killed."""
        python = re.search(r"^python (\d{1,3}) (\d{1,3})$", output, re.MULTILINE)
        return cls(
            python=(int(python[1]), int(python[2])) if python else None,
            processes=last_number("processes", output),
            memory_mib=last_number("memory", output),
            survived=bool(re.search(r"^end$", output, re.MULTILINE)),
        )


def last_number(name: str, output: str) -> int:
    """The number of the last line with this name."""
    found = re.findall(rf"^{name} (\d{{1,6}})$", output, re.MULTILINE)
    return int(found[-1]) if found else 0


async def run_trial(engine: Engine, options: ContainerOptions, launch: Launch, name: str) -> Trial:
    """Run it with the options of a session, but for limits and program.

    A RunnerError means that the engine refused the container.
    """
    trial = await run_script(engine, options, launch, name)
    if trial.processes and not trial.memory_mib:
        # A kernel of its own may end the whole box at the process limit; memory is tried apart.
        memory = await run_script(engine, options, launch, f"{name}-memory", "memory")
        trial = replace(trial, memory_mib=memory.memory_mib, survived=memory.survived)
    return replace(trial, path=launch.python)


async def run_script(
    engine: Engine, options: ContainerOptions, launch: Launch, name: str, *arguments: str
) -> Trial:
    """One container with the script."""
    words = [launch.python, "-I", "-S", "-c", SCRIPT, *arguments]
    spec = container_spec(launch.apply(replace(options, limits=LIMITS), words))
    try:
        return await watch(engine, spec, name)
    finally:
        await asyncio.shield(engine.remove(name))


async def watch(engine: Engine, spec: dict[str, object], name: str) -> Trial:
    """Start the container and read until it ends or its time is over."""
    parts = Demultiplexer()
    output = b""
    container, _ = await engine.create(spec, name)
    stream = await dial(engine.endpoint)
    try:
        await attach(stream, await engine.api_version(), container)
        async with asyncio.timeout(SECONDS):
            await engine.start(container)
            while len(output) < OUTPUT_BYTES and (data := await stream.read(OUTPUT_BYTES)):
                parts.feed(data)
                while piece := parts.take(OUTPUT_BYTES):
                    output += piece
    except TimeoutError:
        return Trial(error=f"a container with tiny limits did not end within {SECONDS:.0f} s")
    finally:
        await stream.close()
    trial = Trial.read(output.decode("utf-8", "replace"))
    if trial.python is None:
        words = parts.stderr.decode("utf-8", "replace").strip()
        return Trial(error=words or "the image's Python said nothing")
    return trial
