"""The machine's own apt configuration: sources of its distribution, and how to reach them.

Nothing about hosts is written into a tree or committed; it is read when an image is built.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from sandbox_images.errors import NoTreeError

__all__ = ["apt_options", "codename", "source_lines"]

OS_RELEASE = Path("/etc/os-release")
FIELDS = "$(CREATED_BY)\t$(REPO_URI)\t$(RELEASE)\t$(COMPONENT)\t$(SIGNED_BY)\t$(ORIGIN)"
PASSED_ON = re.compile(r"Acquire::(https?::|Retries |Check-Valid-Until |Check-Date |ForceIPv)")
UNSUITED = "this machine has no package archive to build a root tree from: "


def codename() -> str:
    """The release of the host's distribution, as in "bookworm"."""
    try:
        text = OS_RELEASE.read_text()
    except OSError:
        text = ""
    found = re.search(r'^VERSION_CODENAME="?([\w.-]+)', text, re.MULTILINE)
    if found is None or shutil.which("apt-get") is None:
        raise NoTreeError(
            UNSUITED + "it is not Debian or one of its relatives (start a Docker engine instead)"
        )
    return found[1]


def source_lines(release: str) -> list[str]:
    """One-line sources of the distribution itself; what others added is left out."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", FIELDS, "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    )
    suites = {release, f"{release}-updates", f"{release}-security"}
    lines: dict[str, None] = {}
    for row in listed.stdout.splitlines():
        kind, uri, suite, component, signed_by, origin = row.split("\t")
        if kind != "Packages" or suite not in suites:
            continue
        if origin not in ("Debian", "Ubuntu", "$(ORIGIN)"):
            continue
        option = "" if signed_by.startswith("$(") else f"[signed-by={signed_by}] "
        lines[f"deb {option}{uri} {suite} {component}"] = None
    if not lines:
        raise NoTreeError(
            UNSUITED + f"apt knows no source for {release} (see /etc/apt/sources.list.d)"
        )
    return list(lines)


def apt_options() -> list[str]:
    """Proxy, retry and clock options of the machine's apt, as configuration lines."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False)
    return [line.rstrip(";") for line in dump.stdout.splitlines() if PASSED_ON.match(line)]
