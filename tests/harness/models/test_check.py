"""`stockade models check` against a provider on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.models.provider import Fault, Say, provider

BOTH = [("a", "weather", {"city": "Oslo"}), ("b", "weather", {"city": "Lima"})]


async def check(tmp_path: Path, *script: Say | Fault, args: tuple[str, ...] = ()) -> Any:
    async with provider(*script) as server:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "OPENAI_BASE_URL": server.url,
            "OPENAI_MODEL": "m",
        }
        argv = [str(Path(sys.executable).with_name("stockade")), "models", "check", *args]
        process = await asyncio.create_subprocess_exec(
            *argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()


async def test_a_model_that_does_all_is_told_so(tmp_path: Path) -> None:
    code, out, _ = await check(tmp_path, Say("", BOTH), args=("--json",))
    found = {one["name"]: one["works"] for one in json.loads(out)["findings"]}
    assert (code, found) == (
        0,
        {
            "answer": "yes",
            "streaming": "yes",
            "tools": "yes",
            "parallel calls": "yes",
            "usage": "yes",
            "wire form": "yes",
        },
    )


@pytest.mark.parametrize(
    ("say", "line"),
    [
        (Say("no tools here"), "tools           does not  no tool was called"),
        (Say("", [("a", "weather", {"town": "Oslo"})]), "the arguments do not fit the schema"),
    ],
    ids=["no call", "wrong arguments"],
)
async def test_tools_that_do_not_work_end_in_exit_1(tmp_path: Path, say: Say, line: str) -> None:
    code, out, _ = await check(tmp_path, say)
    assert code == 1
    assert line in out


async def test_a_model_that_refuses_ends_in_exit_7_with_its_words(tmp_path: Path) -> None:
    body = b'{"error": {"message": "unknown key"}}'
    code, out, err = await check(tmp_path, Fault("status", 401, {}, body))
    assert (code, out, err) == (7, "", "stockade: openai:m: the server answered 401: unknown key\n")
