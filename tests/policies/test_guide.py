"""The guide's policy loads, and its commands do what the guide says."""

from __future__ import annotations

import re
from pathlib import Path

from policies import (
    Command,
    compile_layers,
    explain_command,
    lint_policy,
    load,
    profile_names,
    run_fixtures,
)

GUIDE = Path(__file__).parents[2] / "docs" / "first-policy.md"


def guided(folder: Path, *, cases: bool = False) -> Path:
    """The policy that the guide builds up, or its cases."""
    path = folder / ("cases.toml" if cases else "my-project.toml")
    blocks = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    path.write_text("\n".join(block for block in blocks if ("[[case]]" in block) == cases))
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


def test_the_cases_of_the_guide_hold(tmp_path):
    results = run_fixtures(load(guided(tmp_path)), guided(tmp_path, cases=True))
    assert [result.ok for result in results] == [True, True]


REFERENCE = Path(__file__).parents[2] / "docs" / "policy.md"


def test_every_policy_of_the_reference_loads(tmp_path):
    blocks = re.findall(r"```toml\n(.*?)```", REFERENCE.read_text(), re.DOTALL)
    for number, block in enumerate(blocks):
        path = tmp_path / f"{number}.toml"
        path.write_text(block)
        compile_layers(path, trust=False)
    assert len(blocks) >= 2


def test_the_python_of_the_reference_holds():
    (block,) = re.findall(r"```python\n(.*?)```", REFERENCE.read_text(), re.DOTALL)
    exec(compile(block, "policy.md", "exec"), {})


def test_the_reference_names_every_profile_and_command():
    text = REFERENCE.read_text()
    assert [name for name in profile_names() if f"`{name}`" not in text] == []
