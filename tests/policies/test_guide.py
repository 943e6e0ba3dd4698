"""The guide's policy loads, and its commands do what the guide says."""

from __future__ import annotations

import re
from pathlib import Path

from policies import Command, compile_layers, explain_command, lint_policy

GUIDE = Path(__file__).parents[2] / "docs" / "policy-guide.md"


def guided(folder: Path) -> Path:
    path = folder / "my-project.toml"
    path.write_text("\n".join(re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL)))
    return path


def test_the_policy_of_the_guide_loads_and_is_clean(tmp_path):
    loaded = compile_layers(guided(tmp_path), trust=False)
    open_findings = [str(f) for f in lint_policy(loaded) if not f.waived and f.severity != "note"]
    assert (loaded.policy.name, open_findings) == ("my-project", [])


def test_the_edit_of_the_guide_is_the_one_that_is_offered(tmp_path):
    loaded = compile_layers(guided(tmp_path), trust=False)
    (edit, *_) = explain_command(loaded, Command(("make", "-j16", "test"))).edits
    assert (edit.before, edit.after, f":{edit.line}:{edit.column}:") == (
        "INT(1..8)",
        "INT(1..16)",
        ":11:24:",
    )
