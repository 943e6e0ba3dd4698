"""Services by typed keys: what is mounted, who needs it, and what happens when it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from harness.errors import RegistrationError, ServiceError

__all__ = ["Key", "Services"]

T = TypeVar("T")


class Key(Generic[T]):
    """Names a service and its type.

    Keys are constants of a module, so that a misspelt one is found by the type checker, and what
    ``services[KEY]`` gives has its type.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Key({self.name!r})"


class Services:
    """What is mounted, by key; a child sees its parent's, and may have its own.

    Promises:
     1. A service that is not mounted is a ServiceError that names it.
     2. A key is taken once a layer.
     3. Whoever watches is told after every change.
    """

    def __init__(self, parent: Services | None = None) -> None:
        self._parent = parent
        self._own: dict[Key[Any], object] = {}
        self._watchers: list[Callable[[], None]] = []

    def provide(self, key: Key[T], service: T) -> Callable[[], None]:
        """Mount a service; returns what takes it down again."""
        if key in self._own:
            raise RegistrationError(f"service {key.name!r}: is mounted already")
        self._own[key] = service
        self._changed()

        def dispose() -> None:
            if key in self._own and self._own[key] is service:
                del self._own[key]
                self._changed()

        return dispose

    def __getitem__(self, key: Key[T]) -> T:
        if key in self._own:
            return cast("T", self._own[key])
        if self._parent is not None:
            return self._parent[key]
        raise ServiceError(f"service {key.name!r} is not mounted")

    def __contains__(self, key: object) -> bool:
        return key in self._own or (self._parent is not None and key in self._parent)

    def find(self, key: Key[T]) -> T | None:
        """The service, or None."""
        try:
            return self[key]
        except ServiceError:
            return None

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Be told after every change, here and above."""
        above = None if self._parent is None else self._parent.watch(watcher)
        self._watchers.append(watcher)

        def dispose() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)
            if above is not None:
                above()

        return dispose

    def _changed(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()
