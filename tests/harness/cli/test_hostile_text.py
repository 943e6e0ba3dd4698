"""Whatever a name or a text holds, nothing of it steers the terminal that shows it."""

from __future__ import annotations

import ast
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import harness.cli
from harness.batch.attempt import Attempt
from harness.cli.entry import run_command
from harness.cli.live import LiveNarrator
from harness.cli.narrator import Narrator
from harness.cli.progress import LiveWatch
from harness.cli.terminal import inline
from harness.event import Event, Notice, RunStart, VerifyEnd
from tests.harness.report.sample import Writer

EVIL = "a\x1b[31mred\x9b0m\u202egnp\u2066\u200f\x07\rstockade: no\u2028x"
NAME = f"{EVIL}\nstockade: fake line"
RAW = "\x1b\x9b\u202e\u2066\u200f\x07\r\u2028"


def harmless(text: str) -> bool:
    """Whether nothing raw is left, and no line begins that is not ours."""
    raw = [c for c in text if c in RAW or not (c.isprintable() or c in "\n\t")]
    forged = [line for line in text.split("\n") if line.startswith("stockade: fake")]
    assert (raw, forged) == ([], []), text
    return True


@pytest.fixture
def hostile_run(tmp_path: Path) -> Path:
    """A run folder whose every text is hostile."""
    folder = tmp_path / f"run {EVIL}"
    writer = Writer(folder)
    writer.start(task=NAME, model=NAME, instruction=NAME)
    writer.begin(NAME)
    writer.call("run_command", {"argv": ["ls", NAME]}, NAME, verdict={"message": NAME})
    writer.call(NAME, NAME, NAME, ok=False, verdict={"decision": "deny", "rule": NAME})
    writer.log.append("notice", kind=NAME, text=NAME)
    writer.log.append("verify/start", argv=[NAME])
    findings = [{"path": NAME, "reason": NAME, "left_out": True}]
    writer.log.append("verify/end", verdict=NAME, reason=NAME, findings=findings, missing=[NAME])
    writer.log.append("run/end", status=NAME, verdict=NAME, exit_code=1)
    writer.log.close()
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "show", "RUN"),
        ("runs", "show", "RUN", "--json"),
        ("runs", "verify", "RUN"),
        ("runs", "verify", "RUN", "--json"),
        ("runs", "report", "RUN"),
        ("runs", "report", "RUN", "--json"),
        ("runs", "export", "RUN"),
        ("runs", "export", "RUN", "--to", "openai"),
        ("runs", "export", "RUN", "--to", "mini"),
        ("runs", "export", "RUN", "--to", "junit"),
        ("runs", "export", "RUN", "--to", NAME),
        ("runs", "diff", "RUN", "RUN"),
        ("runs", "replay", "RUN", "--policy", "readonly"),
        ("runs", "redecide", "RUN", "--policy", "readonly", "--all"),
        ("runs", "redecide", "RUN", "--policy", "readonly", "--all", "--json"),
        ("runs", "resume", "RUN"),
        ("policy", "coverage", "RUN", "--policy", "readonly", "--rejudge"),
        ("policy", "suggest", "RUN"),
        ("policy", "suggest", "RUN", "--json"),
        ("policy", "diff", "readonly", "python-dev", "--corpus", "RUN"),
        ("runs", "show", NAME),
        ("runs", "list", "--task", NAME),
        ("policy", "explain", "--policy", "readonly", "--", "ls", NAME),
        ("policy", "explain", "--policy", "readonly", "--line", f"ls '{NAME}'"),
        ("policy", "check", NAME),
        ("policy", "check", "--policy", NAME),
        ("policy", "show", "--policy", NAME),
        ("policy", "show", "--policy", "readonly", "--program", NAME),
        ("policy", "fmt", NAME),
        ("policy", "lint", NAME),
        ("policy", "test", NAME),
        ("policy", "import", NAME, "--from", "codex"),
        ("policy", "import", "/dev/zero", "--from", "codex"),
        ("policy", "suggest", "/dev/zero"),
        ("images", "build", "--requirements", "/dev/zero"),
        ("policy", NAME),
        ("tasks", "check", NAME),
        ("tasks", "check", "TASK"),
        ("tasks", "check", "TASK", "--json"),
        ("tasks", "lint", "TASK"),
        ("tasks", "lint", NAME),
        ("tasks", "init", "TASK"),
        ("run", "TASK", "--agent", "nop"),
        ("run", NAME, "--agent", "nop"),
        ("run", "--instruction", "x", "--model", NAME),
        ("run", "--instruction", "x", "--agent", "nop", "--workspace", NAME),
        ("run", "--instruction", "x", "--agent", "nop", "--key", NAME),
        ("exec", "--workspace", NAME, "--", "true"),
        ("exec", "--policy", NAME, "--", "true"),
        ("batch", NAME, "--agent", "nop"),
        ("batch", "TASK", "--agent", "nop", "--baseline", NAME),
        ("models", "check", NAME),
        ("images", "verify", NAME),
        ("images", "build", NAME),
        ("doctor", "--runner", NAME),
        (NAME,),
        (f"--{NAME}",),
    ],
    ids=lambda words: " ".join(words[:5]).encode("ascii", "ignore").decode()[:40],
)
def test_no_command_passes_on_what_could_steer_a_terminal(
    words: tuple[str, ...], hostile_run: Path, tmp_path: Path, capfd: Any, monkeypatch: Any
) -> None:
    task = tmp_path / f"task {NAME}"
    task.mkdir()
    toml = NAME.encode("unicode_escape").decode().replace("\\x", "\\u00")
    (task / "task.toml").write_text(
        f'schema_version = "1.3"\n[metadata]\n"{toml}" = 1\n[metadata.stockade]\n'
        f'workspace = "{toml}"\nmore = "{toml}"\n[environment]\ncpus = "{toml}"\n'
    )
    (task / "instruction.md").write_text(NAME)
    for name in ("STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    places = {"RUN": str(hostile_run), "TASK": str(task)}
    run_command([places.get(word, word) for word in words])
    out, err = capfd.readouterr()
    assert harmless(out)
    assert harmless(err)
    assert "internal error" not in err


def test_the_list_of_runs_shows_hostile_names_in_one_line_each(
    hostile_run: Path, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    runs = tmp_path / "state" / "stockade" / "runs"
    runs.mkdir(parents=True)
    hostile_run.rename(runs / NAME)
    (runs / NAME / "result.json").write_text('{"status": ["x"], "verdict": {}, "exit_code": []}')
    assert run_command(["runs", "list"]) == 0
    out = capsys.readouterr().out
    assert (harmless(out), out.count("\n")) == (True, 1)


def drawn(console: Console) -> str:
    """What a console wrote, without the colours that it adds itself."""
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_the_live_table_of_a_batch_shows_a_hostile_name_in_one_line() -> None:
    watch = LiveWatch(1)
    watch._console = console = Console(file=io.StringIO(), width=200, color_system=None)
    watch.began(type("Named", (), {"name": NAME})(), 1)  # type: ignore[arg-type]
    console.print(watch._draw())
    watch.ended(Attempt(NAME, 1, 1, 0.1, {"exit_code": 1}, None), 1, 1)
    watch.say(NAME)
    assert harmless(drawn(console).replace("\nstockade: fake", "\n(said)"))


@pytest.mark.parametrize(
    "payload",
    [
        RunStart({"task": NAME, "policy": {"name": NAME}}),
        Notice("left-out", NAME),
        VerifyEnd(
            {
                "verdict": "failed",
                "reason": NAME,
                "findings": [{"path": NAME, "reason": NAME, "left_out": False}],
                "missing": [NAME],
            }
        ),
    ],
    ids=lambda payload: payload.type,
)
def test_what_a_run_tells_holds_nothing_raw(payload: Any, capsys: Any) -> None:
    Narrator().hear(Event(payload, "r", 0, None, 1.0))
    live = LiveNarrator(Console(file=io.StringIO(), width=200, color_system=None))
    live.hear(Event(payload, "r", 0, None, 1.0))
    assert harmless(capsys.readouterr().err)
    assert harmless(drawn(live.console))


def test_a_text_of_others_stays_in_its_line() -> None:
    assert inline("a\n\tb\x1b") == "a\\n\\tb\\x1b"


ALLOWED = {"terminal.py", "__init__.py", "loop.py"}
"""Where standard output and error are written to: the one way, and two texts of our own."""


@pytest.mark.parametrize(
    "path", sorted(Path(harness.cli.__file__).parent.glob("*.py")), ids=lambda path: path.name
)
def test_the_command_line_writes_through_its_one_way_alone(path: Path) -> None:
    found = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func)
        in {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"}
    ]
    assert path.name in ALLOWED or not found, found
