"""Dictionaries that are given away and must not be changed, and that JSON still can write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

__all__ = ["FrozenDict", "frozen_copy"]


class FrozenDict(dict[str, Any]):
    """A dictionary whose content is final."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this dictionary is not to be changed")

    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse


def frozen_copy(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """A deep copy whose dictionaries are frozen and whose lists are tuples."""
    if isinstance(value, Mapping):
        return FrozenDict({key: frozen_copy(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen_copy(item) for item in value)
    return value
