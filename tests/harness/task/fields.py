"""One task file with every field of the schema, and for each field a value that cannot stand."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

BOX: dict[str, Any] = {
    "build_timeout_sec": 600.0,
    "docker_image": "python:3.11-slim",
    "os": "linux",
    "cpus": 2,
    "memory_mb": 1024,
    "storage_mb": 256,
    "gpus": 0,
    "gpu_types": ["H100"],
    "env": {"PLAIN": "x", "GIVEN": "${GIVEN:-default}"},
    "workdir": "/app",
    "skills_dir": "/skills",
    "network_mode": "no-network",
    "allowed_hosts": [],
    "mcp_servers": [],
}
HEALTH = {
    "command": "true",
    "interval_sec": 1.0,
    "timeout_sec": 5.0,
    "start_period_sec": 0.0,
    "start_interval_sec": 1.0,
    "retries": 3,
}
ARTIFACT = {
    "source": "/app/out",
    "destination": "kept/out",
    "exclude": ["*.tmp"],
    "service": "main",
}
VERIFIER: dict[str, Any] = {
    "timeout_sec": 60.0,
    "env": {"A": "b"},
    "user": "tester",
    "network_mode": "no-network",
    "allowed_hosts": [],
    "environment_mode": "separate",
    "environment": BOX,
    "collect": [{"command": "true", "service": "main", "timeout_sec": 5.0, "user": 1000}],
}
AGENT = {"timeout_sec": 60.0, "user": 1000, "network_mode": "no-network", "allowed_hosts": []}

FULL: dict[str, Any] = {
    "schema_version": "1.4",
    "source": "somewhere",
    "multi_step_reward_strategy": "mean",
    "artifacts": ["/app/log.txt", ARTIFACT],
    "task": {
        "name": "org/full",
        "version": "1",
        "description": "All of it",
        "authors": [{"name": "N", "email": "n@example.org"}],
        "keywords": ["k"],
    },
    "metadata": {
        "anything": {"goes": [1, 2]},
        "stockade": {"policy": "python-dev", "left_out": True},
    },
    "agent": AGENT,
    "verifier": VERIFIER,
    "environment": {**BOX, "healthcheck": HEALTH},
    "solution": {"env": {"S": "t"}},
    "steps": [
        {
            "name": name,
            "agent": AGENT,
            "verifier": VERIFIER,
            "min_reward": least,
            "healthcheck": HEALTH,
            "artifacts": [ARTIFACT],
        }
        for name, least in (("first", 0.5), ("second", {"reward": 1.0, "style": 0.25}))
    ],
}

BROKEN_BOX: list[tuple[str, Any]] = [
    ("build_timeout_sec", "long"),
    ("docker_image", 7),
    ("os", "plan9"),
    ("cpus", "two"),
    ("memory_mb", "1G"),
    ("memory", "much"),
    ("memory", "2G"),
    ("storage_mb", [1]),
    ("storage", "none"),
    ("gpus", "some"),
    ("gpu_types", "H100"),
    ("tpu", {"type": "v4", "topology": "square"}),
    ("env", {"A": 1}),
    ("workdir", 1),
    ("skills_dir", []),
    ("network_mode", "some"),
    ("allowed_hosts", ["https://example.org"]),
    ("allowed_hosts", ["example.org"]),
    ("allow_internet", "maybe so"),
    ("mcp_servers", [{"name": "x", "transport": "stdio"}]),
    ("mcp_servers", [{"name": "x", "transport": "sse"}]),
]
BROKEN_HEALTH: list[tuple[str, Any]] = [
    ("command", 1),
    ("interval_sec", "often"),
    ("timeout_sec", []),
    ("start_period_sec", "x"),
    ("start_interval_sec", "x"),
    ("retries", 1.5),
]
BROKEN_ARTIFACT: list[tuple[str, Any]] = [
    ("source", "/a/../b"),
    ("destination", "/etc/x"),
    ("destination", "../x"),
    ("destination", "manifest.json"),
    ("exclude", "x"),
    ("service", "no such name!"),
]
BROKEN_AGENT: list[tuple[str, Any]] = [
    ("timeout_sec", "soon"),
    ("user", 1.5),
    ("network_mode", "open"),
    ("allowed_hosts", ["a b"]),
]
BROKEN_VERIFIER: list[tuple[str, Any]] = [
    *BROKEN_AGENT,
    ("env", ["A"]),
    ("environment_mode", "both"),
    ("environment_mode", "shared"),
    ("collect", [{"service": "main"}]),
    ("collect", [{"command": "x", "timeout_sec": "x"}]),
    ("collect", [{"command": "x", "user": []}]),
    ("collect", [{"command": "x", "service": "?"}]),
]


def below(prefix: str, broken: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [(f"{prefix}.{key}", value) for key, value in broken]


BROKEN: list[tuple[str, Any]] = [
    ("schema_version", 1),
    ("source", 1),
    ("multi_step_reward_strategy", "best"),
    ("artifacts", "all"),
    ("task.name", "no-organisation"),
    ("task.version", ""),
    ("task.description", 1),
    ("task.authors", [{"email": "x"}]),
    ("task.keywords", "k"),
    ("metadata", "x"),
    ("solution.env", {"A": False}),
    ("steps", "x"),
    ("steps.0.name", "a/b"),
    ("steps.0.name", "con"),
    ("steps.1.name", "FIRST"),
    ("steps.0.min_reward", "high"),
    *below("artifacts.1", BROKEN_ARTIFACT),
    *below("agent", BROKEN_AGENT),
    *below("verifier", BROKEN_VERIFIER),
    *below("verifier.environment", BROKEN_BOX),
    *below("environment", BROKEN_BOX),
    *below("environment.healthcheck", BROKEN_HEALTH),
    *below("steps.0.agent", BROKEN_AGENT),
    *below("steps.0.verifier", BROKEN_VERIFIER),
    *below("steps.0.healthcheck", BROKEN_HEALTH),
    *below("steps.0.artifacts.0", BROKEN_ARTIFACT),
]

STRICTER: list[tuple[str, Any]] = [
    ("schema_version", "2.0"),
    ("artifacts.1.destination", "./manifest.json"),
    ("artifacts.1.destination", "manifest.json/x"),
    ("artifacts.1.destination", "."),
    ("artifacts.1.destination", "x\0"),
    ("artifacts", ["/manifest.json"]),
    ("artifacts", ["/"]),
    ("artifacts", ["x\0"]),
    ("agent.timeout_sec", -1),
    ("environment.memory_mb", 0),
    ("environment.workdir", "app"),
    ("environment.healthcheck.retries", 0),
    ("environment.docker_image", ""),
    ("metadata.stockade.policy", "mine.toml"),
    ("metadata.stockade.workspace", "../x"),
    ("metadata.stockade.unknown", 1),
]
"""What Harbor puts up with and cannot be meant, and our own table, which Harbor does not read."""


def broken(key: str, value: Any) -> dict[str, Any]:
    """The full file with one value changed."""
    file = copy.deepcopy(FULL)
    *parents, last = key.split(".")
    place: Any = file
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[last] = value
    return file


def shown(key: str) -> str:
    """A key as problems name it: ``steps[0].name``."""
    return "".join(f"[{p}]" if p.isdigit() else f".{p}" for p in key.split(".")).lstrip(".")


def toml(value: Any) -> str:
    """A value as TOML, tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def write_task(folder: Path, file: dict[str, Any]) -> Path:
    """A task folder around a file."""
    text = "".join(f"{key} = {toml(value)}\n" for key, value in file.items())
    for name in ("first", "second"):
        home = folder / "steps" / name
        (home / "tests").mkdir(parents=True)
        (home / "instruction.md").write_text(f"Do the {name}.\n")
        (home / "tests" / "test.sh").write_text("#!/bin/bash\n")
    (folder / "task.toml").write_text(text)
    return folder
