"""A recorded run in the formats of others."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from harness.errors import ConfigError
from harness.export import Exported, export
from harness.models.scripted import ScriptedModel
from harness.recall import recall
from harness.record import read_events
from tests.harness.export.conversation import REPLIES, converse
from tests.harness.export.wheels import downloaded, harbor_steps

RESULT = {"task": "org/fix-it", "status": "completed", "verdict": "passed", "exit_code": 0}


async def exported(tmp_path: Path, name: str) -> str:
    await converse(tmp_path)
    run = recall(read_events(tmp_path / "events.jsonl"))
    return export(name, Exported(run, RESULT, "diff --git a/x b/x\n"))


@pytest.mark.req("S-233", "S-184")
async def test_the_conversation_comes_back_whole_from_the_log(tmp_path: Path) -> None:
    messages = await converse(tmp_path)
    assert recall(read_events(tmp_path / "events.jsonl")).messages == messages


async def test_a_log_that_ends_in_a_batch_gives_a_valid_conversation(tmp_path: Path) -> None:
    messages = await converse(tmp_path)
    records = list(read_events(tmp_path / "events.jsonl"))
    last = max(i for i, r in enumerate(records) if r["type"] == "tool/result")
    assert recall(records[:last]).messages == messages[:5]


async def test_atif_has_every_step_with_its_results(tmp_path: Path) -> None:
    made = json.loads(await exported(tmp_path, "atif"))
    shape = [(s["source"], len(s.get("observation", {}).get("results", []))) for s in made["steps"]]
    assert (made["schema_version"], shape) == (
        "ATIF-v1.8",
        [("system", 0), ("user", 0), ("agent", 2), ("agent", 2), ("agent", 0)],
    )
    assert made["final_metrics"] == {
        "total_steps": 3,
        "total_prompt_tokens": 30,
        "total_completion_tokens": 6,
        "total_cached_tokens": 5,
        "total_cost_usd": 0.25,
    }


@pytest.mark.network
async def test_harbors_own_models_accept_the_trajectory(tmp_path: Path) -> None:
    assert harbor_steps(await exported(tmp_path, "atif"), tmp_path) == 5


async def test_openai_messages_are_what_the_sdk_calls_messages(tmp_path: Path) -> None:
    pydantic = pytest.importorskip("pydantic")
    chat = pytest.importorskip("openai.types.chat", reason="the openai SDK: make setup-peers")
    made = json.loads(await exported(tmp_path, "openai"))
    adapter = pydantic.TypeAdapter(list[chat.ChatCompletionMessageParam])
    adapter.validate_python(made)
    roles = ["system", "user", *["assistant", "tool", "tool"] * 2, "assistant"]
    assert [message["role"] for message in made] == roles


async def test_mini_swe_agent_gets_its_trajectory(tmp_path: Path) -> None:
    made = json.loads(await exported(tmp_path, "mini"))
    assert made["info"] == {
        "model_stats": {"api_calls": 3, "instance_cost": 0.25},
        "config": {"agent": {}, "model": {"model_name": "scripted"}},
        "exit_status": "completed",
        "submission": "diff --git a/x b/x\n",
    }
    assert (made["trajectory_format"], len(made["messages"])) == ("mini-swe-agent-1.1", 9)


async def test_swe_bench_gets_its_prediction(tmp_path: Path) -> None:
    assert json.loads(await exported(tmp_path, "swebench")) == {
        "fix-it": {
            "model_name_or_path": "scripted",
            "instance_id": "fix-it",
            "model_patch": "diff --git a/x b/x\n",
        }
    }


READS_PREDICTIONS = """
import json, sys, types
for name, needs in {"datasets": ("Dataset", "load_dataset", "load_from_disk"),
                    "dotenv": ("load_dotenv",), "tqdm": ("tqdm",)}.items():
    module = types.ModuleType(name)  # what the reader of predictions does not use
    for one in needs:
        setattr(module, one, lambda *given: None)
    sys.modules[name] = module
package = types.ModuleType("swebench")
package.__path__ = [sys.argv[1] + "/swebench"]
harness = types.ModuleType("swebench.harness")
harness.__path__ = [sys.argv[1] + "/swebench/harness"]
sys.modules |= {"swebench": package, "swebench.harness": harness}
from swebench.harness.utils import get_predictions_from_file
print(json.dumps(get_predictions_from_file(sys.argv[2], "any", "test")))
"""


@pytest.mark.network
async def test_swe_benchs_own_reader_accepts_the_predictions(tmp_path: Path) -> None:
    path = tmp_path / "preds.json"
    path.write_text(await exported(tmp_path, "swebench"))
    wheel = downloaded("swebench", tmp_path)
    place = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    argv = [sys.executable, "-c", READS_PREDICTIONS, str(place), str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (read,) = json.loads(done.stdout)
    keys = {"instance_id", "model_name_or_path", "model_patch"}
    assert ({*read}, read["instance_id"]) == (keys, "fix-it")
    used = "".join(p.read_text() for p in (place / "swebench" / "harness").glob("run_eval*.py"))
    assert [key for key in keys if f'"{key}"' not in used] == []


async def test_a_script_made_of_a_run_gives_the_same_replies(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(await exported(tmp_path, "script"))
    again = ScriptedModel.load(path)
    assert [again._replies[i] for i in range(again.left)] == REPLIES


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ({"status": "completed", "verdict": "passed"}, None),
        ({"status": "completed", "verdict": "none"}, None),
        ({"status": "completed", "verdict": "failed"}, "failure"),
        ({"status": "step_limit", "verdict": "failed"}, "failure"),
        ({"status": "completed", "verdict": "broken"}, "error"),
        ({"status": "infrastructure", "verdict": "none"}, "error"),
        ({}, "error"),
    ],
)
def test_junit_tells_failures_from_errors(result: dict[str, str], kind: str | None) -> None:
    text = export("junit", Exported(recall([]), {"task": "a\x1b<b>", **result}))
    suite = ET.fromstring(text)
    (case,) = suite
    assert (case.get("name"), [child.tag for child in case]) == (
        "a\\x1b<b>",
        [kind] if kind else [],
    )


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no format 'x': one of atif, openai"):
        export("x", Exported(recall([])))
