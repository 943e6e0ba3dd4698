"""`stockade runs` on a real recorded run: replay, redecide, diff, export, report, prune."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo"
pytestmark = pytest.mark.bubblewrap


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The demo, run once; its folder and the command line that ran it."""
    from tests.e2e.conftest import Stockade

    stockade = Stockade(tmp_path_factory.mktemp("demo"))
    done = stockade(
        "run", DEMO, "--model", f"scripted:{DEMO / 'script.json'}", "--runner", "bubblewrap"
    )
    assert done.code == 0, done.err
    return stockade, done.folder


def test_the_recorded_demo_replays_strictly(demo: Any) -> None:
    stockade, folder = demo
    done = stockade("runs", "replay", folder, "--json")
    found = json.loads(done.out)
    assert (done.code, found["same"], found["differences"]) == (0, True, [])


def test_every_record_of_the_demo_fits_the_published_schema(demo: Any) -> None:
    stockade, folder = demo
    schema = json.loads(stockade("runs", "schema").out)
    validator = jsonschema.Draft202012Validator(schema)
    for line in (folder / "events.jsonl").read_text().splitlines():
        validator.validate(json.loads(line))


def test_one_changed_byte_of_an_answer_fails_at_its_step_with_a_diff(
    demo: Any, tmp_path: Path
) -> None:
    stockade, folder = demo
    log = (folder / "events.jsonl").read_text()
    assert log.count("A debugger would help.") == 1
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "events.jsonl").write_text(log.replace("A debugger would", "A debugger might"))
    done = stockade("runs", "replay", copy)
    assert done.code == 1
    assert "the log was changed: step 2, model/reply: record" in done.err
    assert "step 2: what is recorded of its answer or its results is not what step 3" in done.out
    assert "\n-digest: " in done.out


def test_in_a_box_the_recorded_demo_ends_as_recorded(demo: Any) -> None:
    stockade, folder = demo
    done = stockade("runs", "replay", folder, "--box", "--json")
    found = json.loads(done.out)
    assert (done.code, found["differences"]) == (0, []), done.err
    assert found["compared"] + len(found["texts"]) == found["recorded"]


def test_in_a_box_results_that_differ_are_shown(demo: Any, tmp_path: Path) -> None:
    stockade, folder = demo
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("options.json", "lock.json"):
        (copy / name).write_bytes((folder / name).read_bytes())
    log = (folder / "events.jsonl").read_text()
    (copy / "events.jsonl").write_text(log.replace('"codes":[1]', '"codes":[0]', 1))
    done = stockade("runs", "replay", copy, "--box")
    assert done.code == 1
    # Its text differs too, unless the tests took exactly as long again.
    assert re.search(r"step 1: tool/result differs in (content, )?programs", done.out)
    assert {'-programs[0]: "exited 0"', '+programs[0]: "exited 1"'} <= {*done.out.split("\n")}


def test_redecide_under_readonly_lists_the_writes_and_the_runs_of_workspace_code(
    demo: Any,
) -> None:
    stockade, folder = demo
    done = stockade("runs", "redecide", folder, "--policy", "readonly", "--json")
    found = json.loads(done.out)
    changed = [(one["tool"], one["action"].split(" ")[0]) for one in found["decisions"]]
    assert (done.code, set(changed)) == (
        1,
        {("edit_file", "edit_file"), ("run_command", "python3")},
    )


def test_redecide_under_the_same_policy_changes_nothing(demo: Any) -> None:
    stockade, folder = demo
    assert stockade("runs", "redecide", folder, "--policy", "python-dev").code == 0


def test_a_run_does_not_differ_from_itself(demo: Any) -> None:
    stockade, folder = demo
    done = stockade("runs", "diff", folder, folder)
    assert (done.code, done.out) == (0, f"{folder.name} and {folder.name}: nothing differs\n")


@pytest.mark.parametrize("name", ["atif", "openai", "mini", "swebench", "script"])
def test_an_export_is_one_json_document(demo: Any, name: str) -> None:
    stockade, folder = demo
    done = stockade("runs", "export", folder, "--to", name)
    assert (done.code, bool(json.loads(done.out))) == (0, True)


@pytest.mark.network
def test_harbors_own_models_accept_the_demo(demo: Any, tmp_path: Path) -> None:
    from tests.harness.export.wheels import harbor_steps

    stockade, folder = demo
    made = stockade("runs", "export", folder, "--to", "atif").out
    assert harbor_steps(made, tmp_path) == len(json.loads(made)["steps"]) == 11


def test_the_openai_sdk_accepts_the_demo(demo: Any) -> None:
    pydantic = pytest.importorskip("pydantic")
    chat = pytest.importorskip("openai.types.chat", reason="the openai SDK: make setup-peers")
    stockade, folder = demo
    made = json.loads(stockade("runs", "export", folder, "--to", "openai").out)
    pydantic.TypeAdapter(list[chat.ChatCompletionMessageParam]).validate_python(made)
    assert [one["role"] for one in made].count("tool") == 13


def test_a_script_exported_from_a_run_gives_the_same_run(demo: Any, tmp_path: Path) -> None:
    stockade, folder = demo
    from tests.e2e.conftest import Stockade

    script = tmp_path / "again.json"
    stockade("runs", "export", folder, "--to", "script", "--out", script)
    other = Stockade(tmp_path)
    done = other("run", DEMO, "--model", f"scripted:{script}", "--runner", "bubblewrap")
    assert done.code == 0, done.err
    contrast = other("runs", "diff", folder, done.folder, "--json")
    found = json.loads(contrast.out)
    assert (found["calls"], found["ended"], found["patch_differs"]) == ([], [], False)


def test_the_report_is_written_beside_the_log(demo: Any) -> None:
    stockade, folder = demo
    done = stockade("runs", "report", folder)
    assert (done.code, done.out) == (0, f"{folder}/report.html\n")
    assert "stockade/demo" in (folder / "report.html").read_text()


def test_an_unknown_run_is_exit_2(demo: Any) -> None:
    stockade, _ = demo
    assert stockade("runs", "replay", "no-such-run").code == 2


def test_prune_keeps_the_newest_and_what_goes_on(stockade: Any) -> None:
    runs = stockade.state / "stockade" / "runs"
    for name in ("a", "b", "c"):
        (runs / name).mkdir(parents=True)
        (runs / name / "events.jsonl").write_text('{"seq":0,"type":"run/start","run":"x"}\n')
    (runs / "b" / "scratch").mkdir()
    (runs / "b" / "scratch" / "owner").write_text("o1:other:other:1:1:1")  # of another machine
    (runs / "a" / "scratch").mkdir()  # left by a harness that died: nobody holds the log
    (runs / "unrelated").mkdir()
    done = stockade("runs", "prune", "--keep", "1", "--json")
    assert json.loads(done.out)["removed"] == [str(runs / "a")]
    assert sorted(p.name for p in runs.iterdir()) == ["b", "c", "unrelated"]


def test_a_recorded_run_is_a_model(demo: Any, tmp_path: Path) -> None:
    _, folder = demo
    from tests.e2e.conftest import Stockade

    other = Stockade(tmp_path)
    done = other("run", DEMO, "--model", f"replay:{folder}", "--runner", "bubblewrap", "--json")
    assert (done.code, json.loads(done.out)["verdict"]) == (0, "passed"), done.err


def test_a_single_command_is_redecided_as_well(stockade: Any, quick_box: str) -> None:
    done = stockade.exec("--runner", quick_box, "--", "python3", "-c", "pass")
    assert done.code == 0, done.err
    found = json.loads(
        stockade("runs", "redecide", done.folder, "--policy", "readonly", "--json").out
    )
    assert [(one["action"], one["before"], one["after"]) for one in found["decisions"]] == [
        ("python3 -c pass", "allow", "deny")
    ]
