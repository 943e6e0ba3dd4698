"""The operator's folder: what travels into a box, and what comes back as a patch.

What every run needs is imported at once, the rest when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runners.workspace.changes import Change, changes
from runners.workspace.copying import (
    Survey,
    compare,
    copy_in,
    copy_out,
    put_folder,
    snapshot,
    survey,
)
from runners.workspace.digest import digest
from runners.workspace.leave import Rules
from runners.workspace.name import shown
from runners.workspace.protect import PROTECTED, Flag, Protected, flags
from runners.workspace.scan import scan
from runners.workspace.scratch import scratch_folder, sweep_folders
from runners.workspace.tree import Item, LeftOut, Tree

if TYPE_CHECKING:
    from runners.workspace.apply import Applied, Conflict, apply_changes
    from runners.workspace.archive import read_archive, write_archive
    from runners.workspace.copied import CopiedIn, CopiedOut
    from runners.workspace.guard import Guard, Trace
    from runners.workspace.layer import lay
    from runners.workspace.patch import Patch, make_patch
    from runners.workspace.result import restore
    from runners.workspace.startup import Startup, startup_files

__all__ = [
    "PROTECTED",
    "Applied",
    "Change",
    "Conflict",
    "CopiedIn",
    "CopiedOut",
    "Flag",
    "Guard",
    "Item",
    "LeftOut",
    "Patch",
    "Protected",
    "Rules",
    "Startup",
    "Survey",
    "Trace",
    "Tree",
    "apply_changes",
    "changes",
    "compare",
    "copy_in",
    "copy_out",
    "digest",
    "flags",
    "lay",
    "make_patch",
    "put_folder",
    "read_archive",
    "restore",
    "scan",
    "scratch_folder",
    "shown",
    "snapshot",
    "startup_files",
    "survey",
    "sweep_folders",
    "write_archive",
]

_LATER = {
    "Applied": "apply",
    "Conflict": "apply",
    "CopiedIn": "copied",
    "CopiedOut": "copied",
    "Guard": "guard",
    "Patch": "patch",
    "Startup": "startup",
    "Trace": "guard",
    "apply_changes": "apply",
    "lay": "layer",
    "make_patch": "patch",
    "read_archive": "archive",
    "restore": "result",
    "startup_files": "startup",
    "write_archive": "archive",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the names above
    if name not in _LATER:
        raise AttributeError(f"module 'runners.workspace' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"runners.workspace.{_LATER[name]}"), name)
