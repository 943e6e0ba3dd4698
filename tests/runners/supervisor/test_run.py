"""What a program gets, and what is told of it."""

from __future__ import annotations

import os

import pytest

from policies import FromFile, FromText, NullDevice, Pipeline, ToFile, ToStdout
from runners import Ending

from .conftest import one, python, shell, stage, text


@pytest.mark.req("S-136", "S-137")
async def test_a_program_gets_exactly_its_words(session):
    words = ["a b", "", "$HOME", "*", "-n", "\\", "ä\n", "; id", "$(id)", "`id`", "| id", "&"]
    outcome = await session.run(one("python3", "-c", "import sys; print(sys.argv[1:])", *words))
    assert text(outcome) == f"{words!r}\n"


async def test_argv0_stays_as_written_when_the_path_is_given(session):
    pipeline = one("my name", "-c", "echo $0")
    outcome = await session.run(pipeline, programs=["/bin/sh"])
    assert text(outcome) == "my name\n"


async def test_a_program_gets_the_environment_that_was_given_and_nothing_else(session, place):
    pipeline = one("env", env=(("A", "stage"), ("B", "b")))
    outcome = await session.run(pipeline, env={"A": "call", "C": "c"})
    assert sorted(text(outcome).splitlines()) == sorted(
        ["A=stage", "B=b", "C=c", f"HOME={place.top}", f"MARK={place.mark}", "PATH=/usr/bin:/bin"]
    )


async def test_a_program_gets_descriptors_0_1_and_2_only(session):
    outcome = await session.run(python("import os; print(os.listdir('/proc/self/fd'))"))
    assert text(outcome) == "['0', '1', '2', '3']\n"  # 3 is the listing itself


async def test_a_program_gets_default_signals_and_none_blocked(session):
    outcome = await session.run(shell("grep -E 'SigBlk|SigIgn' /proc/self/status"))
    masks = [int(line.split()[1], 16) for line in text(outcome).splitlines()]
    internal = 1 << 31 | 1 << 32  # signals 32 and 33 are the C library's own; it ignores them
    assert [mask & ~internal for mask in masks] == [0, 0]


async def test_a_program_leads_a_session_of_its_own(session):
    outcome = await session.run(python("import os; print(os.getsid(0) == os.getpid())"))
    assert text(outcome) == "True\n"


async def test_a_program_starts_in_the_folder_that_was_named(session, place):
    made = await session.run(one("mkdir", "-p", "a/b"))
    assert made.ok
    for cwd, expected in [
        (".", place.workspace),
        ("a/b", place.workspace / "a/b"),
        (str(place.workspace / "a"), place.workspace / "a"),
        ("/usr", "/usr"),
    ]:
        outcome = await session.run(one("pwd"), cwd=cwd)
        assert text(outcome) == f"{expected}\n"


@pytest.mark.parametrize("cwd", ["missing", "../..", "link"])
async def test_a_folder_that_cannot_be_entered_is_an_outcome(session, place, cwd):
    (place.workspace / "link").symlink_to("/etc")
    outcome = await session.run(one("pwd"), cwd=cwd)
    assert (outcome.ending, outcome.code) == (Ending.EXITED, 126)
    assert outcome.start_error.startswith(f"cannot enter the folder {cwd}")


async def test_codes_and_signals_are_told_as_they_are(session):
    exited = await session.run(shell("exit 3"))
    assert (exited.ending, exited.code, exited.signal, exited.codes) == ("exited", 3, None, (3,))
    killed = await session.run(shell("kill -SEGV $$"))
    assert (killed.ending, killed.code, killed.signal) == ("signalled", None, 11)
    assert killed.codes == (-11,)


async def test_a_program_that_does_not_exist_is_code_127(session):
    outcome = await session.run(one("no-such-program"))
    assert (outcome.code, outcome.codes) == (127, (127,))
    assert outcome.start_error == "no-such-program: no such program on the search path"


async def test_a_file_that_is_no_program_is_code_126(session):
    await session.write_file("notes", b"hello", mode=0o644)
    outcome = await session.run(one("./notes"))
    assert (outcome.code, outcome.start_error) == (126, "./notes: Permission denied")


async def test_words_that_no_program_can_get_are_an_outcome(session):
    outcome = await session.run(one("echo", "a\0b"))
    assert (outcome.code, outcome.start_error) == (126, "echo: embedded null byte")
    outcome = await session.run(one("echo", "x" * 200_000))
    assert (outcome.code, outcome.start_error) == (126, "echo: Argument list too long")


async def test_a_long_command_line_arrives_whole(session):
    words = [f"{number:0100}" for number in range(10_000)]
    outcome = await session.run(one("python3", "-c", "import sys; print(len(sys.argv))", *words))
    assert text(outcome) == "10001\n"


async def test_stdin_is_the_null_device_unless_it_is_given(session):
    assert text(await session.run(one("readlink", "/proc/self/fd/0"))) == "/dev/null\n"
    assert text(await session.run(one("cat", stdin=NullDevice()))) == ""
    assert text(await session.run(one("cat", stdin=FromText(b"")))) == ""
    assert text(await session.run(one("cat", stdin=FromText(b"one\ntwo")))) == "one\ntwo"


async def test_a_large_input_arrives_whole(session):
    data = os.urandom(1 << 20) * 3
    outcome = await session.run(one("wc", "-c", stdin=FromText(data)))
    assert text(outcome) == f"{len(data)}\n"


async def test_a_program_that_reads_no_input_ends_all_the_same(session):
    outcome = await session.run(one("true", stdin=FromText(bytes(10 << 20))))
    assert outcome.ok


async def test_stages_are_joined_by_pipes_and_the_last_code_counts(session):
    pipeline = Pipeline(
        (
            stage("sh", "-c", "printf 'b\\na\\n'; exit 4"),
            stage("sort"),
            stage("sh", "-c", "cat; exit 5"),
        )
    )
    outcome = await session.run(pipeline)
    assert (text(outcome), outcome.code, outcome.codes) == ("a\nb\n", 5, (4, 0, 5))


async def test_an_early_end_of_a_reader_ends_its_writer(session):
    outcome = await session.run(Pipeline((stage("yes"), stage("head", "-n", "1"))))
    assert (text(outcome), outcome.codes) == ("y\n", (-13, 0))


async def test_a_missing_stage_does_not_stop_the_others(session):
    outcome = await session.run(Pipeline((stage("nope"), stage("wc", "-c"))))
    assert (text(outcome), outcome.codes) == ("0\n", (127, 0))
    assert outcome.start_error == "nope: no such program on the search path"


async def test_redirections_lead_to_workspace_files(session, place):
    script = "echo out; echo err >&2"
    await session.run(one("sh", "-c", script, stdout=ToFile("o"), stderr=ToFile("e")))
    await session.run(one("sh", "-c", script, stdout=ToFile("o", append=True), stderr=NullDevice()))
    await session.run(one("sh", "-c", script, stdout=ToFile("both"), stderr=ToStdout()))
    await session.run(one("echo", "short", stdout=ToFile("e")))
    found = {file.name: file.read_text() for file in place.workspace.iterdir()}
    assert found == {"o": "out\nout\n", "e": "short\n", "both": "out\nerr\n"}
    assert text(await session.run(one("cat", stdin=FromFile("o")))) == "out\nout\n"


async def test_stderr_joins_stdout_in_order(session):
    outcome = await session.run(shell("echo a; echo b >&2; echo c", stderr=ToStdout()))
    assert (text(outcome), outcome.stderr.total) == ("a\nb\nc\n", 0)


async def test_a_redirection_is_relative_to_the_cwd(session, place):
    await session.run(one("mkdir", "sub"))
    await session.run(one("echo", "x", stdout=ToFile("../up")), cwd="sub")
    assert (place.workspace / "up").read_text() == "x\n"


async def test_data_for_a_later_stage_arrives(session):
    pipeline = Pipeline((stage("echo", "lost"), stage("cat", stdin=FromText(b"kept"))))
    assert text(await session.run(pipeline)) == "kept"


@pytest.mark.parametrize("target", ["../out", "/etc/out", "link", "fifo", "."])
async def test_a_redirection_to_elsewhere_is_refused(session, place, target):
    (place.workspace / "link").symlink_to("/etc/out")
    os.mkfifo(place.workspace / "fifo", 0o666)
    outcome = await session.run(one("echo", "x", stdout=ToFile(target)))
    assert (outcome.code, outcome.stdout.total) == (126, 0)
    assert outcome.start_error.startswith(f"cannot open {target}: ")


async def test_figures_are_measured(session):
    spin = "import time\nwhile time.process_time() < 0.2: pass\nx = bytearray(64 << 20)"
    outcome = await session.run(python(spin))
    assert 0.2 <= outcome.cpu_seconds < 2
    assert outcome.wall_seconds >= 0.2
    assert outcome.peak_memory_bytes is not None
    assert 64 << 20 < outcome.peak_memory_bytes < 128 << 20


async def test_one_session_serves_hundreds_of_calls(session):
    for _ in range(300):
        assert (await session.run(one("true"))).ok
