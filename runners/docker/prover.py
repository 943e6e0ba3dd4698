"""Tries limits and interpreters, once for each engine, runtime, image and boot."""

from __future__ import annotations

import secrets
from dataclasses import replace

from policies import Limits
from runners.docker.assess import Finding
from runners.docker.engine import Engine
from runners.docker.fault import EngineFaultError
from runners.docker.image import BoxImage, find_image
from runners.docker.interpreter import VOLUME_PYTHON, Launch, interpreter_volume
from runners.docker.labels import Labels
from runners.docker.proof import Proofs, proof_key
from runners.docker.spec import ContainerOptions
from runners.docker.sweep import NAME_PREFIX
from runners.docker.trial import Trial, run_trial
from runners.errors import UnavailableError
from runners.owner import Owner

__all__ = ["Prover"]

OLDEST_PYTHON = (3, 8)


class Prover:
    """Proves that images can carry the supervisor and that limits hold them.

    Args:
        engine: where.
        proofs: what was proved before.
        own_image: the image whose interpreter is lent to images that have none.
    """

    def __init__(self, engine: Engine, proofs: Proofs, own_image: str) -> None:
        self._engine = engine
        self._proofs = proofs
        self._own_image = own_image
        self._lent: Launch | None = None

    async def prove(self, found: Finding, image: BoxImage, options: ContainerOptions) -> Trial:
        """The trial of an image with a runtime, remembered or made now."""
        key = proof_key(found.version, found.info, found.runtime, image.id)
        trial = self._proofs.load(key)
        if trial is None:
            trial = await self._try_all(image, options)
            self._proofs.save(key, trial)
        return trial

    async def launch(self, trial: Trial) -> Launch:
        """How to start the interpreter that a trial found."""
        return await self._lend() if trial.path == VOLUME_PYTHON else Launch(trial.path)

    async def _try_all(self, image: BoxImage, options: ContainerOptions) -> Trial:
        """The image's own interpreters, then the lent one."""
        for python in image.pythons:
            trial = await self._try(options, Launch(python))
            if trial.python is not None and trial.python >= OLDEST_PYTHON:
                return trial
            if trial.error and not lacks_program(trial.error):
                return trial  # another interpreter would not fare better
        try:
            lent = await self._lend()
        except UnavailableError as error:
            return Trial(
                error=f"the image has no Python 3.8 or newer, and none can be lent to it: {error}"
            )
        return await self._try(options, lent)

    async def _try(self, options: ContainerOptions, launch: Launch) -> Trial:
        name = f"{NAME_PREFIX}trial-{secrets.token_hex(6)}"
        labels = Labels(name, "trial", Owner.me()).mapping()
        try:
            return await run_trial(self._engine, replace(options, labels=labels), launch, name)
        except EngineFaultError as fault:
            return Trial(error=str(fault))

    async def _lend(self) -> Launch:
        """The volume with the interpreter of our own image."""
        if self._lent is None:
            image = await find_image(self._engine, self._own_image)
            options = ContainerOptions(image.id, (), image.user, Limits())
            options = replace(options, image_env=image.env, image_volumes=image.volumes)
            self._lent = await interpreter_volume(self._engine, options, image.pythons[0])
        return self._lent


def lacks_program(error: str) -> bool:
    """Whether a runtime says that the program is not in the image."""
    return any(words in error for words in ("no such file", "not found", "cannot execute"))
