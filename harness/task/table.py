"""What all tables of a task file share: Harbor's tolerate unknown keys, our own do not."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

__all__ = ["Name", "NetworkMode", "Seconds", "Strict", "Table", "Whole", "fault"]

NetworkMode = Literal["no-network", "public", "allowlist"]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(gt=0)]
Name = Annotated[str, Field(min_length=1)]


def fault(message: str, fix: str, key: str = "") -> PydanticCustomError:
    """What a validator raises: what is wrong, what to write, and which key of a table it is."""
    return PydanticCustomError("fault", "{what}", {"what": message, "fix": fix, "key": key})


class Table(BaseModel):
    """A table whose unknown keys are kept aside, to be warned of: Harbor's schema grows."""

    model_config = ConfigDict(extra="allow", strict=True)


class Strict(BaseModel):
    """A table of our own: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", strict=True)
