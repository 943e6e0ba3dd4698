"""What a task needs of this machine, and what of it is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.config import Config
from harness.task.task import Place, Task
from policies import load as load_policy

__all__ = ["Need", "needs_of"]

FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE | re.MULTILINE)
OWN = re.compile(r"\$\{?BASE\}?")


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a task needs.

    Attributes:
        what: the thing.
        lacking: why it cannot be had as things are, "" where it can.
        cure: what would help.
    """

    what: str
    lacking: str = ""
    cure: str = ""

    def __str__(self) -> str:
        return (
            f"{self.what}: {self.lacking}; {self.cure}" if self.lacking else f"{self.what}: there"
        )


def needs_of(task: Task, config: Config) -> list[Need]:
    """All needs of a task that could be read."""
    agent = Place(
        image=task.image,
        docker_image=task.docker_image,
        dockerfile=task.dockerfile,
        memory_mib=task.memory_mib,
        disk_mib=task.disk_mib,
    )
    places = [agent, *(check.place for check in checks(task) if check.place is not None)]
    found = [need for place in places for need in image_needs(place, config)]
    policy = load_policy(task.policy or config.policy or "python-dev")
    for place in places:
        found += size_needs(place, policy.limits.memory_mib, policy.limits.disk_mib, policy.name)
    if task.solve is None and not (task.steps and all(step.solve for step in task.steps)):
        found.append(
            Need(
                "a reference solution", "there is no solution/solve.sh", "add it for --agent oracle"
            )
        )
    return list(dict.fromkeys(found))


def checks(task: Task) -> list:  # type: ignore[type-arg]
    """How the task, or each of its steps, is verified."""
    return [check for check in (task.check, *(s.check for s in task.steps)) if check is not None]


def image_needs(place: Place, config: Config) -> Iterator[Need]:
    """The image, or what it is built on."""
    if place.image is not None:
        yield own_image(place.image)
    elif place.docker_image is not None:
        yield docker_image(place.docker_image, config)
    elif place.dockerfile is not None:
        yield from bases(place.dockerfile, config)
    else:
        yield own_image(config.image or "python")


def own_image(name: str) -> Need:
    """An image of the operator's, by name."""
    import sandbox_images

    what = f"image {name}"
    try:
        found = sandbox_images.find(name, engine=False)
    except sandbox_images.ImageNameError as error:
        return Need(what, str(error), "name an image that `stockade images list` shows")
    if found is None and not held(name) and not held(sandbox_images.tag(name)):
        return Need(what, "is not built", f"stockade images build {name}")
    return Need(what)


def docker_image(name: str, config: Config) -> Need:
    """An image that a registry has, or one that stands for it here."""
    here = config.images.map.get(name)
    if here is not None:
        return own_image(here)
    if held(name):
        return Need(f"Docker image {name}")
    cure = f'docker pull {name}, or [images] map = {{"{name}" = "python"}} in the configuration'
    return Need(f"Docker image {name}", "the engine does not hold it", cure)


def bases(dockerfile: Path, config: Config) -> Iterator[Need]:
    """What a Dockerfile begins with."""
    text = dockerfile.read_text(encoding="utf-8", errors="replace")
    if not engine_answers():
        yield Need("a Docker engine to build the image", "none answers", "start one")
    stages = {alias for _, alias in FROM.findall(text) if alias}
    for base, _ in FROM.findall(text):
        if base not in stages and base != "scratch" and not OWN.fullmatch(base):
            yield docker_image(base, config)


def size_needs(place: Place, memory: int, disk: int, policy: str) -> Iterator[Need]:
    """Memory and disk beyond what the policy gives."""
    for what, asked, given in (
        ("memory", place.memory_mib, memory),
        ("disk", place.disk_mib, disk),
    ):
        if asked is not None and asked > given:
            lacking = f"the policy {policy} gives {given} MiB"
            yield Need(f"{asked} MiB of {what}", lacking, "run it with a --policy that gives more")


def engine_answers() -> bool:
    """Whether a Docker engine can be asked."""
    from sandbox_images.engine import connect

    engine = connect()
    if engine is None:
        return False
    engine.client.close()
    return True


def held(name: str) -> bool:
    """Whether the engine, if one answers, holds an image."""
    from sandbox_images.engine import connect

    engine = connect()
    if engine is None:
        return False
    with engine:
        return engine.holds(name)
