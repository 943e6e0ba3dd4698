"""Policy files: read, checked, compiled, proved."""

from policies.loading.diagnostic import Diagnostic, PolicyFileError
from policies.loading.loader import Loaded, compile_layers, load, profile_names

__all__ = ["Diagnostic", "Loaded", "PolicyFileError", "compile_layers", "load", "profile_names"]
