"""Policy files: read, checked, compiled, proved."""

from policies.loading.diagnostic import Diagnostic, PolicyFileError
from policies.loading.loader import compile_layers, load, profile_names

__all__ = ["Diagnostic", "PolicyFileError", "compile_layers", "load", "profile_names"]
