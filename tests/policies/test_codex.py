"""Imported rules of codex, held against codex itself on every example."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from policies import Command, Policy, import_policy, load
from tests.policies.writing import write

RULES = Path(__file__).parent / "cases" / "codex.rules"
PACKAGE = "@openai/codex"
DECISIONS = {"allow": "allow", "prompt": "ask", "forbidden": "deny", None: "deny"}


def examples() -> list[tuple[str, ...]]:
    """Every example of the rules, read by Python alone."""
    found: list[tuple[str, ...]] = []
    for node in ast.walk(ast.parse(RULES.read_text())):
        if isinstance(node, ast.keyword) and node.arg in ("match", "not_match"):
            given = ast.literal_eval(node.value)
            found += [tuple(shlex.split(one) if isinstance(one, str) else one) for one in given]
    return list(dict.fromkeys(found))


def imported(folder: Path) -> Policy:
    return load(write(folder, import_policy(RULES.read_text(), "codex").text))


@pytest.fixture(scope="module")
def codex(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program, from the operator's PATH or freshly installed into a folder of its own."""
    known = shutil.which("codex")
    if known:
        return known
    if shutil.which("npm") is None:
        pytest.skip("neither codex nor npm is installed")
    folder = tmp_path_factory.mktemp("codex")
    argv = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=100)
    binaries = sorted(folder.glob("node_modules/@openai/*/vendor/*/bin/codex"))
    if done.returncode != 0 or not binaries:
        pytest.skip(f"{PACKAGE} cannot be installed: {done.stderr.strip()[-200:]}")
    return str(binaries[0])


def test_the_rules_are_thirty_and_all_are_carried_over(tmp_path):
    found = import_policy(RULES.read_text(), "codex")
    assert found.text.count("[[rule]]") == 30
    assert {loss.code for loss in found.losses} == {
        "any-tail",
        "example-dropped",
        "wider-deny",
    }


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_imported_policy_and_codex_agree_on_every_example(codex, tmp_path):
    policy = imported(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    env = {**os.environ, "HOME": str(home), "CODEX_HOME": str(home)}

    def theirs(words: tuple[str, ...]) -> str:
        argv = [codex, "execpolicy", "check", "--rules", str(RULES), "--", *words]
        done = subprocess.run(
            argv, check=False, capture_output=True, text=True, env=env, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return DECISIONS[json.loads(done.stdout).get("decision")]

    with ThreadPoolExecutor(2) as pool:
        told = dict(zip(examples(), pool.map(theirs, examples()), strict=True))
    ours = {words: policy.judge(Command(words)).decision.label for words in examples()}
    assert len(ours) >= 100
    assert ours == told
