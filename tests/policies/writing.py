"""Small policy files for tests."""

from __future__ import annotations

import json
from pathlib import Path

import policies
from policies import Command, Policy, PolicyFileError, Verdict

HEAD = 'schema = 1\nname = "t"\n'


def write(folder: Path, text: str, name: str = "t.toml") -> Path:
    path = folder / name
    path.write_text(HEAD + text if "schema" not in text else text)
    return path


def policy(folder: Path, text: str) -> Policy:
    return policies.load(write(folder, text))


def lines(folder: Path, *allow: str, top: str = "", **more: object) -> Policy:
    """A policy of one rule."""
    fields = {"allow": list(allow), **more}
    body = "".join(f"{key} = {toml(value)}\n" for key, value in fields.items() if value != [])
    return policy(folder, f'{top}\n[[rule]]\nname = "r"\n{body}')


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def judge(found: Policy, *argv: str, cwd: str = ".", root: str = "/workspace") -> Verdict:
    return found.judge(Command(tuple(argv), cwd), root=root)


def code(verdict: Verdict) -> str:
    return verdict.decision.label if verdict.reason == "ok" else f"{verdict.reason}@{verdict.word}"


def faults(folder: Path, text: str) -> list[str]:
    """Every fault as line:column message."""
    try:
        policy(folder, text)
    except PolicyFileError as error:
        return [f"{d.line}:{d.column} {d.message}" for d in error.diagnostics]
    return []
