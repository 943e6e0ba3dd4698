"""The command line with real protocols over real HTTP: every fault on the way, and Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.harness.models.provider import Fault, Provider, Say, provider

DEMO = Path(__file__).parents[2] / "examples" / "demo"
FAULTS = [
    Fault("drop"),
    Fault("status", 408),
    Fault("status", 409),
    Fault("status", 429, {"Retry-After": "0"}),
    Fault("status", 500),
    Fault("status", 503, {}, b"<html><h1>Service Unavailable</h1></html>"),
    Fault("cut", say=Say("a long answer that is cut in the middle")),
    Fault("error200", body=b'{"type": "error", "error": {"type": "overloaded_error"}}'),
    Fault("hang"),
]
CONFIG = """
[models.it]
provider = "{provider}"
model = "m"
base_url = "{url}"
stream = {stream}
idle_seconds = 0.5
"""


def script(faults: list[Fault]) -> list[Say | Fault]:
    """The demo's own answers, a fault before each as long as there are some."""
    replies = json.loads((DEMO / "script.json").read_text())["replies"]
    made: list[Say | Fault] = []
    left = list(faults)
    for number, reply in enumerate(replies):
        if left:
            made.append(left.pop(0))
        calls = [
            (f"call-{number}-{i}", call["name"], call["arguments"])
            for i, call in enumerate(reply.get("calls", []))
        ]
        made.append(Say(reply.get("text", ""), calls))
    assert not left, "the demo has too few answers for all faults"
    return made


def environ_for(stockade: Any, server: Provider, name: str, stream: str) -> dict[str, str]:
    config = stockade.root / "config" / "stockade" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG.format(provider=name, url=server.url, stream=stream))
    return {**stockade.environ, f"{name.upper()}_API_KEY": "key-of-this-test"}


FORMS = [
    pytest.param("openai", "true", id="openai-streamed"),
    pytest.param("openai", "false", id="openai-whole", marks=pytest.mark.slow),
    pytest.param("anthropic", "true", id="anthropic-streamed", marks=pytest.mark.slow),
    pytest.param("anthropic", "false", id="anthropic-whole", marks=pytest.mark.slow),
]


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("name", "stream"), FORMS)
async def test_the_demo_passes_with_every_fault_on_the_way(
    stockade: Any, name: str, stream: str
) -> None:
    async with provider(*script(FAULTS)) as server:
        environ = environ_for(stockade, server, name, stream)
        argv = stockade.argv("run", DEMO, "--model", "it", "--runner", "bubblewrap", "--json")
        process = await asyncio.create_subprocess_exec(
            *argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    result = json.loads(out)
    (folder,) = stockade.state.glob("stockade/runs/*")
    log = (folder / "events.jsonl").read_text()
    attempts = [r for r in map(json.loads, log.splitlines()) if r["type"] == "model/attempt"]
    failed = sum(not a["ok"] for a in attempts)
    # A stream can be cut; an answer that is not streamed ends with its length or not at all.
    assert (result["verdict"], failed) == ("passed", len(FAULTS))
    assert "key-of-this-test" not in log + out.decode() + err.decode()
    shown = stockade("runs", "show", folder)
    assert shown.out.count("attempt 1 at ") == failed
    assert stockade("runs", "verify", folder).code == 0


@pytest.mark.bubblewrap
async def test_ctrl_c_during_an_answer_closes_the_connection_and_the_log(stockade: Any) -> None:
    async with provider(Fault("drip")) as server:
        environ = environ_for(stockade, server, "openai", "true")
        argv = stockade.argv("run", DEMO, "--model", "it", "--runner", "bubblewrap")
        process = await asyncio.create_subprocess_exec(
            *argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        while not server.requests:
            assert process.returncode is None, (await process.communicate())[1].decode()
            await asyncio.sleep(0.01)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(server.closed.wait(), 5)
        closed = time.monotonic() - began
        await process.communicate()
    (folder,) = stockade.state.glob("stockade/runs/*")
    last = json.loads((folder / "events.jsonl").read_text().splitlines()[-1])
    assert (process.returncode, last["type"], last["status"]) == (130, "run/end", "aborted")
    assert closed < 0.2  # the deadline that is promised


@pytest.mark.bubblewrap
async def test_a_model_that_refuses_ends_in_exit_7_with_its_words(stockade: Any) -> None:
    body = b'{"error": {"message": "your account is closed"}}'
    async with provider(Fault("status", 403, {}, body)) as server:
        environ = environ_for(stockade, server, "openai", "true")
        argv = stockade.argv("run", DEMO, "--model", "it", "--runner", "bubblewrap")
        process = await asyncio.create_subprocess_exec(
            *argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        _, err = await process.communicate()
    assert process.returncode == 7
    assert "the server answered 403: your account is closed" in err.decode()


def test_no_connection_leaves_loopback(tmp_path: Path) -> None:
    """The tests' own guard refuses what is not loopback, so a quiet leak would be an error."""
    code = (
        "import tests.conftest, socket\n"
        "tests.conftest.keep_to_loopback()\n"
        "s = socket.socket()\n"
        "try: s.connect(('192.0.2.1', 80))\n"
        "except tests.conftest.LeftLoopbackError as e: print(e)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.stdout == "a test connects to 192.0.2.1, which is not loopback\n", done.stderr
