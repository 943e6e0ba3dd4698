from __future__ import annotations

import json
import os
import subprocess
import time

import pytest

from tests.e2e.living import gone

GIT = """
schema = 1
name = "git"
isolation = "process"
[[rule]]
name = "git-read"
program = "git"
isolation = "process"
allow = ["git status", "git log [-n INT(1..99)]"]
"""


def test_a_denied_word_is_126_and_named_with_its_rule(stockade, tmp_path, quick_box) -> None:
    stockade.policy.write_text(GIT)
    done = stockade.exec("--runner", quick_box, "--", "git", "-c", "core.pager=id", "log")
    assert (done.code, "git-read" in done.err, "-c" in done.err) == (126, True, True), done.err


def test_an_allowed_command_passes_its_output_and_code_on(stockade, each_box) -> None:
    done = stockade.exec(
        "--runner", each_box, "--", "python3", "-c",
        "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)",
    )  # fmt: skip
    assert (done.code, done.out, done.err) == (7, "out\n", "err\n")


def test_a_command_ends_at_its_limit_and_leaves_no_process(stockade, each_box) -> None:
    mark = f"sleep-{os.getpid()}-{time.monotonic_ns()}"
    done = stockade.exec(
        "--runner", each_box, "--timeout", "1", "--json", "--",
        "python3", "-c", f"import time; time.sleep(1000)  # {mark}",
    )  # fmt: skip
    outcome = json.loads(done.out)["outcomes"][0]
    assert (done.code, outcome["ending"], outcome["wall_seconds"] < 2) == (124, "timed_out", True)
    assert gone(mark)


HIDER = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        time.sleep(1000)
    os._exit(0)
time.sleep(1000)
"""


def test_a_program_that_hides_is_gone_when_its_call_ends(stockade, box) -> None:
    mark = f"hide-{os.getpid()}-{time.monotonic_ns()}"
    done = stockade.exec(
        "--runner", box, "--timeout", "1", "--", "python3", "-c", HIDER + f"# {mark}"
    )
    assert (done.code, gone(mark)) == (124, True), done.err


def test_a_program_that_does_not_exist_is_127(stockade, quick_box) -> None:
    stockade.policy.write_text(
        GIT + '[[rule]]\nname = "none"\nprogram = "nosuch"\nallow = ["nosuch"]\n'
    )
    done = stockade.exec("--runner", quick_box, "--", "nosuch")
    assert done.code == 127, done.err


def test_a_usage_error_is_125(stockade) -> None:
    assert stockade("exec", "--no-such-option", "--", "true").code == 125


def test_no_command_at_all_is_125(stockade) -> None:
    assert stockade.exec("--").code == 125


def test_an_unknown_policy_is_125(stockade) -> None:
    done = stockade("exec", "--policy", "nowhere", "--", "true")
    assert (done.code, "Traceback" in done.err) == (125, False)


def test_an_ask_is_126(stockade, quick_box) -> None:
    done = stockade.exec("--runner", quick_box, "--", "python3", "--version")
    assert done.code == 126, done.err


def test_standard_input_is_given_only_on_demand(stockade, quick_box) -> None:
    words = ("--runner", quick_box, "--", "python3", "-c", "print(repr(input()))")
    given = stockade.exec("-i", *words, stdin=b"hello\n")
    withheld = stockade.exec(*words, stdin=b"hello\n")
    assert (given.code, given.out, withheld.code) == (0, "'hello'\n", 1)


def test_bytes_pass_unchanged_into_a_pipe(stockade, quick_box) -> None:
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)))"
    done = subprocess.run(
        stockade.argv("exec", "--policy", stockade.policy, "--runner", quick_box, "--",
                      "python3", "-c", code),
        env=stockade.environ, capture_output=True, check=False,
    )  # fmt: skip
    assert done.stdout == bytes(range(256))


def test_a_reader_that_leaves_ends_the_program(stockade, quick_box) -> None:
    argv = stockade.argv(
        "exec", "--policy", stockade.policy, "--runner", quick_box, "--",
        "python3", "-c", "while True: print('y')",
    )  # fmt: skip
    with subprocess.Popen(
        argv, env=stockade.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (141, b"")


def test_control_characters_are_written_out_on_a_terminal(stockade, quick_box) -> None:
    import pty

    leader, follower = pty.openpty()
    argv = stockade.argv(
        "exec", "--policy", stockade.policy, "--runner", quick_box, "--",
        "python3", "-c", r"print('\x1b[31mred')",
    )  # fmt: skip
    with subprocess.Popen(argv, env=stockade.environ, stdout=follower, stderr=follower) as process:
        os.close(follower)
        process.wait()
    shown = os.read(leader, 1000)
    os.close(leader)
    assert shown == b"\\x1b[31mred\r\n"


WRITE = ("python3", "-c", "open('new.txt', 'w').write('made in a box\\n')")


def test_changes_are_discarded(stockade, tmp_path, quick_box) -> None:
    (tmp_path / "w").mkdir()
    done = stockade.exec("--runner", quick_box, "--workspace", tmp_path / "w", "--", *WRITE)
    assert (done.code, list((tmp_path / "w").iterdir())) == (0, [])


def test_changes_come_out_as_a_patch_on_demand(stockade, tmp_path, quick_box) -> None:
    (tmp_path / "w").mkdir()
    patch = tmp_path / "out.diff"
    words = ("--workspace", tmp_path / "w", "--patch", patch, "--", *WRITE)
    done = stockade.exec("--runner", quick_box, *words)
    assert (done.code, b"+made in a box" in patch.read_bytes()) == (0, True), done.err
    assert list((tmp_path / "w").iterdir()) == []


def test_changes_are_applied_on_demand(stockade, tmp_path, quick_box) -> None:
    (tmp_path / "w").mkdir()
    words = ("--workspace", tmp_path / "w", "--apply", "--", *WRITE)
    done = stockade.exec("--runner", quick_box, *words)
    assert (done.code, (tmp_path / "w" / "new.txt").read_text()) == (0, "made in a box\n")


def test_a_line_is_a_plan(stockade, quick_box) -> None:
    done = stockade.exec(
        "--runner",
        quick_box,
        "--line",
        "python3 -c 'print(6)' | python3 -c 'print(int(input())*7)'",
    )
    assert (done.code, done.out) == (0, "42\n"), done.err


def test_a_run_folder_is_written_also_for_a_denial(stockade, quick_box) -> None:
    done = stockade.exec("--runner", quick_box, "--", "rm", "-rf", "/")
    assert (done.code, done.result["decision"], done.events[-1]["type"]) == (
        126,
        "deny",
        "run/end",
    )


def test_the_default_policy_writes_nothing(stockade, quick_box) -> None:
    done = stockade("exec", "--runner", quick_box, "--", "python3", "-c", "print(1)")
    assert done.code == 126, done.err


@pytest.mark.docker
def test_an_image_that_does_not_exist_is_our_failure(stockade) -> None:
    done = stockade.exec("--runner", "docker", "--image", "nowhere", "--", *WRITE)
    assert (done.code, "nowhere" in done.err, "Traceback" in done.err) == (125, True, False)


def test_what_was_not_copied_in_is_named(stockade, tmp_path, quick_box) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".env").write_text("KEY=1\n")
    words = ("--workspace", tmp_path / "w", "--", "python3", "-c", "print(6)")
    done = stockade.exec("--runner", quick_box, *words)
    assert (done.code, done.out) == (0, "6\n")
    assert ".env (an environment file" in done.err


@pytest.mark.docker
def test_a_workspace_too_large_for_memory_lies_on_the_engines_disk(stockade, tmp_path) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / "data").write_bytes(os.urandom(12 << 20))
    with stockade.policy.open("a") as policy:
        policy.write("\n[limits]\ndisk_mib = 16\n")
    done = stockade.exec(
        "--runner", "docker", "--workspace", folder, "--",
        "python3", "-c", "import os; print(os.path.getsize('data')); open('new', 'w').write('x')",
    )  # fmt: skip
    assert (done.code, done.out) == (0, "12582912\n"), done.err
    assert "the workspace of 12 MiB does not fit" in done.err
