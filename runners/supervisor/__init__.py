"""The supervisor: runs inside every box, Python 3.8+ standard library only."""
