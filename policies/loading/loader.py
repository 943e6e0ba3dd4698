"""load(): a policy from a profile or a file, with all its faults at once."""

from __future__ import annotations

from pathlib import Path

from policies.loading.builder import Builder
from policies.loading.diagnostic import Diagnostic, PolicyFileError
from policies.loading.document import Document
from policies.loading.examples import prove
from policies.loading.layers import BUILTIN, fix_for, profile_names, read_layers, read_text
from policies.loading.project import Project
from policies.policy import Policy

__all__ = ["Loaded", "compile_layers", "load", "profile_names"]


def load(source: str | Path, *, project: Path | None = None) -> Policy:
    """The policy that a profile or a file describes.

    Args:
        source: the name of a built-in profile (``python-dev`` or ``builtin:python-dev``), or the
            path of a ``.toml`` file.
        project: a restrict-only file that takes something away from it.

    Raises:
        PolicyFileError: with a diagnostic for each fault, and the exit code 2.
    """
    return compile_layers(source, project=project).policy


class Loaded:
    """A policy with the builder that knows where everything stands."""

    def __init__(self, policy: Policy, builder: Builder) -> None:
        self.policy = policy
        self.builder = builder


def compile_layers(
    source: str | Path, *, trust: bool = True, project: Path | None = None
) -> Loaded:
    """Load a policy and keep what the tools for authors need.

    Args:
        source: as for :func:`load`.
        project: as for :func:`load`.
        trust: take built-in profiles as proved (this project's tests prove them) and compile
            their lines when they are needed.
    """
    named = locate(source)
    try:
        layers = read_layers(named)
    except FileNotFoundError:
        raise PolicyFileError(
            [Diagnostic(str(source), 0, 0, "no such policy", hint(named))]
        ) from None
    taken = None if project is None else read_project(project)
    builder = Builder(layers, trust=trust, project=taken)
    policy = builder.build()
    if taken is None and not any(layer.document.faults for layer in layers):
        for layer in layers:
            if builder.trusted(layer):
                continue
            own = policy if layer is layers[-1] else builder.closure(layer)
            prove(own, [raw for raw in builder.kept if raw.layer is layer])
    faults = [fault for layer in layers for fault in layer.document.faults]
    faults += taken.document.faults if taken is not None else []
    if faults:
        faults.sort(key=lambda fault: (fault.file, fault.line, fault.column))
        raise PolicyFileError(list(dict.fromkeys(faults)))
    return Loaded(policy, builder)


def read_project(path: Path) -> Project:
    """A restrict-only file; its examples are those of the policy, which it may break."""
    try:
        return Project(Document(str(path), read_text(path, str(path))))
    except FileNotFoundError:
        raise PolicyFileError([Diagnostic(str(path), 0, 0, "no such project file")]) from None


def locate(source: str | Path) -> str:
    """A profile's name as ``builtin:NAME``; everything else is a path."""
    text = str(source)
    bare = isinstance(source, str) and "/" not in text and not text.endswith(".toml")
    return BUILTIN + text if bare and not text.startswith(BUILTIN) else text


def hint(named: str) -> str:
    if named.startswith(BUILTIN):
        return fix_for(named) + "; a file is named by a path that ends in .toml"
    return "give the path of a .toml file, or the name of a built-in profile"
