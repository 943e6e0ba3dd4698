"""Importers: other tools' permissions as policies; every loss is reported, nothing is widened."""

from policies.importing.imported import Imported, Loss, import_policy

__all__ = ["Imported", "Loss", "import_policy"]
