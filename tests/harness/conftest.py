"""Nothing here may leave the machine."""

from __future__ import annotations

import socket
from typing import Any

import pytest

LOOPBACK = ("127.", "::1", "localhost")


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections off the machine, unless a test is marked for the network."""
    if request.node.get_closest_marker("network") is not None:
        return
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> Any:
        inet = self.family in (socket.AF_INET, socket.AF_INET6)
        if inet and not str(address[0]).startswith(LOOPBACK):
            raise AssertionError(f"a test tried to reach {address[0]}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
