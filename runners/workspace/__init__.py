"""The operator's folder: what travels into a box, and what comes back as a patch."""

from runners.workspace.apply import Applied, Conflict, apply_changes
from runners.workspace.archive import read_archive, write_archive
from runners.workspace.changes import Change, changes
from runners.workspace.copied import CopiedIn, CopiedOut
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
from runners.workspace.guard import Guard, Trace
from runners.workspace.layer import lay
from runners.workspace.leave import Rules
from runners.workspace.name import shown
from runners.workspace.patch import Patch, make_patch
from runners.workspace.protect import PROTECTED, Flag, Protected, flags
from runners.workspace.result import restore
from runners.workspace.scan import scan
from runners.workspace.scratch import scratch_folder, sweep_folders
from runners.workspace.startup import Startup, startup_files
from runners.workspace.tree import Item, LeftOut, Tree

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
