"""Denials as SARIF 2.1.0 (OASIS standard, 27 March 2020): what the policy refused, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.errors import LogError
from harness.record import read_events

__all__ = ["sarif"]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_TEXT = 2000


def sarif(runs: Iterable[tuple[str, Path]], *, root: Path) -> dict[str, Any]:
    """One document for many runs.

    Args:
        runs: name of the task and its run folder.
        root: what paths are written relative to.
    """
    rules: dict[str, dict[str, Any]] = {}
    results: list[dict[str, Any]] = []
    for task, folder in runs:
        for record in _denied(folder):
            reason = str(record.get("reason") or "denied")
            rules.setdefault(reason, _rule(reason))
            results.append(_result(task, folder, root, reason, record))
    ordered = sorted(rules)
    for result in results:
        result["ruleIndex"] = ordered.index(result["ruleId"])
    driver = {
        "name": "stockade",
        "version": version("stockade-harness"),
        "rules": [rules[name] for name in ordered],
    }
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }


def _denied(folder: Path) -> Iterable[Mapping[str, Any]]:
    try:
        for record in read_events(folder / "events.jsonl"):
            if record.get("type") == "tool/verdict" and record.get("decision") == "deny":
                yield record
    except LogError:
        return  # a log that cannot be read on ends here; `runs verify` says why


def _rule(reason: str) -> dict[str, Any]:
    return {
        "id": reason,
        "shortDescription": {"text": f"The policy denied a call: {reason}"},
        "defaultConfiguration": {"level": "warning"},
    }


def _result(
    task: str, folder: Path, root: Path, reason: str, record: Mapping[str, Any]
) -> dict[str, Any]:
    message = str(record.get("message") or "the policy does not allow it")
    log = folder / "events.jsonl"
    try:
        uri = log.relative_to(root).as_posix()
    except ValueError:
        uri = log.as_uri()
    properties: dict[str, Any] = {"task": task, "step": record.get("step")}
    for ours, theirs in (("action", "argv"), ("rule", "rule"), ("line", "policyLine"),
                         ("word", "word")):  # fmt: skip
        if record.get(ours) is not None:
            properties[theirs] = record[ours]
    return {
        "ruleId": reason,
        "level": "warning",
        "message": {"text": f"{task}, step {record.get('step')}: {message}"[:_TEXT]},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": int(record.get("seq", 0)) + 1},
                },
                "logicalLocations": [{"name": str(record.get("name")), "kind": "function"}],
            }
        ],
        "properties": properties,
    }
