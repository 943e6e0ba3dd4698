"""The supervisor: runs inside every box, Python 3.8+ standard library only."""

from runners.supervisor.parcel import Payload, payload

__all__ = ["Payload", "payload"]
