"""A run in the formats of others."""

from harness.export.formats import FORMATS, Exported, export

__all__ = ["FORMATS", "Exported", "export"]
