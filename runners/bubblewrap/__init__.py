"""The bubblewrap box: all namespaces, a read-only system, file systems in memory."""

from runners.bubblewrap.runner import BubblewrapRunner

__all__ = ["BubblewrapRunner"]
