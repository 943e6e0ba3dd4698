"""What an operator can get wrong: a clear message, the right code, no traceback."""

from __future__ import annotations

import json
import os
import socket
import subprocess

import pytest


def plain(done, code: int, *words: str) -> bool:
    """Whether the code and the words are there, and no traceback is."""
    assert (done.code, "Traceback" in done.err) == (code, False), done.err
    assert all(word in done.err for word in words), done.err
    return True


def test_a_task_with_wrong_fields_is_2_and_names_all_of_them(stockade, task) -> None:
    task.write("task.toml", 'schema_version = 1.4\n[environment]\ncpus = "x"\n')
    (task.path / "instruction.md").unlink()
    done = stockade.run(task.path, "--agent", "nop")
    assert plain(done, 2, "schema_version", "environment.cpus", "instruction.md")


def test_a_task_that_does_not_exist_is_2(stockade, tmp_path) -> None:
    assert plain(stockade.run(tmp_path / "nowhere", "--agent", "nop"), 2, "nowhere")


def test_neither_task_nor_instruction_is_2(stockade) -> None:
    assert plain(stockade("run"), 2, "--instruction")


def test_a_policy_with_a_bad_line_is_2_with_file_line_and_column(stockade, task) -> None:
    stockade.policy.write_text(
        'schema = 1\nname = "bad"\n[[rule]]\nname = "x"\nprogram = "ls"\nallow = ["ls [-l"]\n'
    )
    done = stockade.run(task.path, "--agent", "nop")
    assert plain(done, 2, "policy.toml:6:")


def test_an_unknown_policy_is_2(stockade, task) -> None:
    done = stockade("run", task.path, "--policy", "nowhere", "--agent", "nop")
    assert plain(done, 2, "nowhere")


def test_a_workspace_that_does_not_exist_is_2(stockade, tmp_path) -> None:
    done = stockade("run", "--instruction", "x", "--workspace", tmp_path / "no", "--agent", "nop")
    assert plain(done, 2, "does not exist")


def test_no_model_is_2_and_says_what_to_set(stockade, task) -> None:
    assert plain(stockade.run(task.path), 2, "--model")


def test_a_script_that_is_no_script_is_2(stockade, task) -> None:
    script = task.write("script.json", "{}")
    assert plain(stockade.run(task.path, "--model", f"scripted:{script}"), 2, "script.json")


def test_a_wrong_configuration_file_is_2(stockade, task) -> None:
    config = stockade.root / "config" / "stockade" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("runer = 'docker'\n")
    assert plain(stockade.run(task.path, "--agent", "nop"), 2, "config.toml", "runer")


def test_a_workspace_over_the_limit_is_2_and_the_log_is_whole(stockade, task, quick_box) -> None:
    stockade.policy.write_text(stockade.policy.read_text() + "\n[limits]\ndisk_mib = 64\n")
    with (task.workspace / "large").open("wb") as file:
        file.truncate(65 << 20)
    done = stockade.run(task.path, "--runner", quick_box, "--agent", "nop")
    assert plain(done, 2, "large")
    assert whole(stockade, done)


@pytest.mark.parametrize("runner", ["docker", "bubblewrap", "process"])
def test_an_unknown_image_is_said_so_and_the_log_is_whole(stockade, task, runner, request) -> None:
    done = stockade.run(task.path, "--runner", runner, "--image", "nowhere", "--agent", "nop")
    assert done.code in {2, 3}, done.err
    assert "Traceback" not in done.err
    assert whole(stockade, done)


def test_no_daemon_is_3_with_the_cure_and_the_log_is_whole(stockade, task, tmp_path) -> None:
    words = ("run", task.path, "--policy", stockade.policy, "--runner", "docker", "--agent", "nop")
    done = stockade(*words, environ={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert plain(done, 3, "docker")
    assert whole(stockade, done)


def test_a_daemon_that_does_not_answer_sense_is_3(stockade, task, tmp_path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "mute.sock"))
        listener.listen()
        listener.close()
        words = ("run", task.path, "--policy", stockade.policy, "--runner", "docker")
        done = stockade(
            *words, "--agent", "nop", environ={"DOCKER_HOST": f"unix://{tmp_path}/mute.sock"}
        )
    assert plain(done, 3)


def test_a_script_that_runs_out_is_7_and_the_log_is_whole(stockade, task, quick_box) -> None:
    script = task.script([("list_dir", {"path": "."})])
    done = stockade.run(task.path, "--runner", quick_box, "--model", script)
    assert plain(done, 7)
    assert (done.result["status"], whole(stockade, done)) == ("model_error", True)


def test_a_malformed_answer_is_7_and_the_log_is_whole(stockade, task, quick_box) -> None:
    reply = {"text": None, "calls": [{"name": 5}]}
    script = task.write("script.json", json.dumps({"schema": 1, "replies": [reply]}))
    done = stockade.run(task.path, "--runner", quick_box, "--model", f"scripted:{script}")
    assert done.code in {2, 7}, done.err
    assert "Traceback" not in done.err


def test_an_unknown_run_is_2(stockade) -> None:
    assert plain(stockade("runs", "show", "nowhere"), 2, "nowhere")


def test_an_out_folder_that_holds_something_is_2(stockade, task, tmp_path) -> None:
    done = stockade.run(task.path, "--agent", "nop", "--out", task.path)
    assert plain(done, 2, "not empty")


def test_in_place_without_a_workspace_of_ones_own_is_2(stockade, task) -> None:
    assert plain(stockade.run(task.path, "--agent", "nop", "--in-place"), 2, "--workspace")


def test_an_explicit_network_is_2(stockade, task) -> None:
    text = (task.path / "task.toml").read_text().replace("no-network", "public")
    task.write("task.toml", text)
    assert plain(stockade.run(task.path, "--agent", "nop"), 2, "network_mode")


def whole(stockade, done) -> bool:
    """Whether the run's log verifies, begins and ends as a log must, and nothing is left over."""
    names = {path.name for path in done.folder.iterdir()}
    assert "scratch" not in names
    assert {"events.jsonl", "result.json"} <= names
    assert [done.events[0]["type"], done.events[-1]["type"]] == ["run/start", "run/end"]
    return stockade("runs", "verify", done.folder).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--agent", "nop", "--instruction", "x", "--patch"),
        ("batch", ".", "--junit"),
        ("batch", ".", "--sarif"),
        ("batch", ".", "--summary"),
        ("runs", "export", "latest", "--out"),
        ("runs", "report", "latest", "--out"),
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_a_file_that_cannot_be_written_is_2_before_anything_runs(stockade, tmp_path, words) -> None:
    done = stockade(*words, tmp_path / "nowhere" / "file")
    assert plain(done, 2, "there is no folder", "nowhere")
    assert not stockade.state.exists()


def test_an_empty_instruction_is_2(stockade) -> None:
    assert plain(stockade("run", "--instruction", " ", "--agent", "nop"), 2, "--instruction")


def test_a_full_disk_is_said_so_with_the_cure(stockade, task) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    stockade.state.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(stockade.state)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        (stockade.state / "filler").write_bytes(bytes(60 << 10))
        done = stockade.run(task.path, "--agent", "nop")
        assert plain(done, 3, "No space left on device", "XDG_STATE_HOME")
        assert "internal error" not in done.err
    finally:
        subprocess.run(["umount", str(stockade.state)], check=True)
