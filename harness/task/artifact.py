"""What a task wants to have kept of its box, and where each of it lies on the host."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from harness.task.table import Name, Table, fault

__all__ = ["MANIFEST", "Artifact", "ArtifactTable", "Service"]

SERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
MAIN = "main"
MANIFEST = "manifest.json"


def service_name(text: str) -> str:
    """The name of a service of a compose file."""
    if SERVICE.fullmatch(text.strip()) is None:
        raise fault("is not the name of a service", "write letters, digits, hyphens, dots")
    return text.strip()


def box_path(text: str) -> str:
    """A path in the box."""
    if ".." in PurePosixPath(text).parts:
        raise fault("contains '..'", "write the path without it")
    if "\0" in text:
        raise fault("holds a NUL", "write the path without it")
    return text


def host_path(text: str) -> str | None:
    """A path below the folder of artifacts."""
    path = PurePosixPath(text)
    if "\\" in text or path.is_absolute() or ".." in path.parts:
        raise fault("leads out of the folder", "write a relative path with forward slashes")
    if "\0" in text:
        raise fault("holds a NUL", "write the path without it")
    return text or None


Service = Annotated[str, AfterValidator(service_name)]


class ArtifactTable(Table):
    """One entry of ``artifacts``: a path, or a table that says more."""

    source: Annotated[Name, AfterValidator(box_path)]
    destination: Annotated[str, AfterValidator(host_path)] | None = None
    exclude: list[str] = Field(default_factory=list)
    service: Service | None = None

    @model_validator(mode="after")
    def has_a_place(self) -> ArtifactTable:
        """A place of its own: neither the folder of artifacts itself nor the list in it."""
        key = "destination" if self.destination else "source"
        if not self.place.parts:
            raise fault("names the folder of artifacts itself", "add a destination below it", key)
        if self.place.parts[0] == MANIFEST:
            raise fault("is the list of what was kept", "add another destination", key)
        return self

    @property
    def place(self) -> PurePosixPath:
        """Where it goes below the folder of artifacts."""
        return PurePosixPath((self.destination or self.source).lstrip("/"))

    @property
    def of_main(self) -> bool:
        """Whether it is asked of the task's own box."""
        return self.service in (None, MAIN)


def spelled_out(value: Any) -> Any:  # noqa: ANN401 - what a TOML file holds
    """A bare path as the table that it stands for."""
    return {"source": value} if isinstance(value, str) else value


Artifact = Annotated[ArtifactTable, BeforeValidator(spelled_out), Field()]
