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


def test_an_instruction_that_is_no_text_is_2(stockade) -> None:
    done = stockade("run", "--agent", "nop", "--instruction", os.fsdecode(b"\xff"))
    assert plain(done, 2, "--instruction", "UTF-8")


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        (">&-", ("exec", "--", "pwd")),
        ("2>&-", ("runs", "list")),
        ("<&-", ("--help",)),
        (">&- 2>&- <&-", ("exec", "--", "pwd")),
    ],
)
def test_a_standard_stream_that_is_closed_is_the_null_device(stockade, stream, words) -> None:
    argv = ["sh", "-c", f'"$@" {stream}', "sh", *stockade.argv(*words)]
    done = subprocess.run(argv, env=stockade.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, "internal error" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize("words", [["runs", "list", "--json"], ["exec", "--", "pwd"]], ids=" ".join)
def test_an_output_that_takes_no_more_is_said_to_be_the_output(stockade, words) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            stockade.argv(*words), env=stockade.environ, stdout=full, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
    said = "standard output cannot be written: No space left on device"
    assert (done.returncode, said in done.stderr) == (125 if words[0] == "exec" else 3, True)
    assert "XDG_STATE_HOME" not in done.stderr


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to nowhere", "too large", "no text"])
def test_a_configuration_that_cannot_be_read_is_2(stockade, task, kind) -> None:
    path = stockade.root / "config" / "stockade" / "config.toml"
    path.parent.mkdir(parents=True)
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "link to nowhere":
            path.symlink_to("nowhere")
        case "too large":
            path.write_text("#" * ((1 << 20) + 1))
        case _:
            path.write_bytes(b"\xff")
    assert plain(stockade.run(task.path, "--agent", "nop"), 2, "config.toml", "cannot be read")


@pytest.mark.parametrize(
    "words",
    [
        ("policy", "check", "--policy", "FILE"),
        ("policy", "test", "FILE", "--policy", "readonly"),
        ("run", "--instruction", "x", "--agent", "nop", "--key", "FILE"),
        ("run", "--instruction", "x", "--agent", "nop", "--policy", "FILE"),
        ("run", "--instruction", "x", "--agent", "nop", "--project-policy", "FILE"),
        ("run", "--instruction", "x", "--model", "scripted:FILE"),
        ("batch", "TASK", "--agent", "nop", "--baseline", "FILE"),
    ],
    ids=" ".join,
)
def test_a_device_that_never_ends_is_2_wherever_a_file_is_named(stockade, task, words) -> None:
    made = [word.replace("FILE", "/dev/zero").replace("TASK", str(task.path)) for word in words]
    assert plain(stockade(*made), 2, "/dev/zero")


def test_a_state_folder_that_is_a_file_is_said_so(stockade, task) -> None:
    stockade.state.write_text("")
    done = stockade.run(task.path, "--agent", "nop")
    assert plain(done, 2, "cannot be made", "Not a directory")
    assert stockade("runs", "list").code == 0


def test_without_any_home_it_is_said_what_to_set(stockade) -> None:
    environ = {"HOME": "", "XDG_STATE_HOME": "relative", "XDG_CONFIG_HOME": "relative"}
    assert plain(stockade("runs", "list", environ=environ), 0)


def test_a_timeout_that_ends_before_the_program_is_found_is_124(stockade, quick_box) -> None:
    words = ("exec", "--runner", quick_box, "--policy", stockade.policy, "--timeout", "1e-9")
    done = stockade(*words, "--", "python3", "-c", "1")
    assert (done.code, "no program" in done.err) == (124, False), done.err
