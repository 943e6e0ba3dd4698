"""Promise 1: a program gets exactly what was given, and its end is told as it was."""

from __future__ import annotations

import json

from policies import FromFile, NullDevice, Pipeline, Stage, ToFile, ToStdout
from runners.conformance.check import (
    Opening,
    Registry,
    expect,
    printed,
    promised,
    python,
    run,
)
from runners.outcome import Ending

__all__ = ["CHECKS"]

check = Registry()
CHECKS = check.checks

BASE_ENVIRONMENT = {"PATH", "HOME", "LANG", "TMPDIR"}


@check(1)
async def arguments_arrive_unchanged(opening: Opening) -> None:
    """No word is split, expanded, quoted or dropped."""
    words = [
        "",
        " ",
        "a b",
        "$HOME",
        "*",
        "`id`",
        "'\"\\",
        "new\nline",
        "-rf",
        "é\u2028",
        "x" * 9999,
    ]
    async with opening() as session:
        text = await printed(session, "import sys, json; print(json.dumps(sys.argv[1:]))", *words)
    expect(json.loads(text), words, "arguments")


@check(1)
async def environment_holds_only_what_was_given(opening: Opening) -> None:
    """The base variables, the session's and the call's; nothing of the harness."""
    async with opening(env=(("SESSION_VALUE", "1 2"),)) as session:
        stage = Stage(("env", "-0"), (("STAGE_VALUE", "3"),))
        outcome = await session.run(Pipeline((stage,)), env={"CALL_VALUE": "x=y"})
    pairs = dict(entry.split(b"=", 1) for entry in outcome.stdout.data.split(b"\0") if entry)
    given = {b"SESSION_VALUE": b"1 2", b"CALL_VALUE": b"x=y", b"STAGE_VALUE": b"3"}
    expect({name: pairs.get(name) for name in given}, given, "variables given")
    others = {name.decode() for name in pairs} - {name.decode() for name in given}
    extra = {name for name in others - BASE_ENVIRONMENT if not name.startswith("STOCKADE_")}
    promised(not extra, f"variables that nobody gave: {sorted(extra)}")
    expect(others >= BASE_ENVIRONMENT, True, "base variables are there")


@check(1)
async def working_folder_is_the_one_given(opening: Opening) -> None:
    """Relative to the workspace, or absolute in the box."""
    async with opening() as session:
        await session.write_file("deep/er/file", b"")
        root = session.paths["workspace"]
        inside = await run(session, "pwd", cwd="deep/er")
        absolute = await run(session, "pwd", cwd=f"{root}/deep")
    expect(inside.stdout.text().strip(), f"{root}/deep/er", "relative folder")
    expect(absolute.stdout.text().strip(), f"{root}/deep", "absolute folder")


@check(1)
async def standard_input_arrives_whole(opening: Opening) -> None:
    """Any bytes, more than a pipe holds."""
    data = bytes(range(256)) * 2000
    code = "import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    async with opening() as session:
        outcome = await python(session, code, stdin=data)
        reference = await run(session, "sha256sum", stdin=data)
    expect(outcome.stdout.text().split()[:1], reference.stdout.text().split()[:1], "digest")
    promised(outcome.ok, "a program that reads its input ends well")


@check(1)
async def standard_input_that_nobody_reads_holds_nothing_up(opening: Opening) -> None:
    """A program may leave its input alone."""
    async with opening() as session:
        outcome = await run(session, "true", stdin=b"x" * 1_000_000)
    expect(outcome.code, 0, "exit code")


@check(1)
async def no_standard_input_is_an_empty_one(opening: Opening) -> None:
    """Reading it ends at once."""
    async with opening() as session:
        outcome = await run(session, "cat")
    expect((outcome.code, outcome.stdout.total), (0, 0), "cat without input")


@check(1)
async def three_descriptors_are_open(opening: Opening) -> None:
    """Nothing of supervisor or harness is inherited."""
    code = (
        "import os, fcntl\n"
        "def is_open(n):\n"
        "    try: fcntl.fcntl(n, fcntl.F_GETFD)\n"
        "    except OSError: return False\n"
        "    return True\n"
        "print([n for n in range(1024) if is_open(n)])"
    )
    async with opening() as session:
        text = await printed(session, code)
    expect(text, "[0, 1, 2]", "open descriptors")


@check(1)
async def signals_are_as_a_shell_would_leave_them(opening: Opening) -> None:
    """None ignored, none blocked. Python itself ignores two, so a shell tries those.

    The C library's own two (32 and 33) are left out: its posix_spawn ignores them in every child.
    """
    code = (
        "import ctypes, os, signal\n"
        "number = {'x86_64': 13, 'aarch64': 134}[os.uname().machine]\n"
        "libc = ctypes.CDLL(None)\n"
        "def ignored(signum):\n"
        "    action = (ctypes.c_ulong * 4)()\n"
        "    libc.syscall(number, signum, None, action, 8)\n"
        "    return action[0] == 1\n"
        "own = (signal.SIGPIPE, signal.SIGXFSZ)\n"
        "blocked = [int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])]\n"
        "print([n for n in range(1, 32) if n not in own and ignored(n)], blocked)\n"
    )
    async with opening() as session:
        text = await printed(session, code)
        ends = [await run(session, "sh", "-c", f"kill -{name} $$") for name in ("PIPE", "XFSZ")]
    expect(text, "[] []", "ignored and blocked signals")
    expect([outcome.signal for outcome in ends], [13, 25], "signals that Python ignores")


@check(1)
async def executed_file_and_first_word_are_told_apart(opening: Opening) -> None:
    """The resolved path runs, argv[0] stays as written."""
    async with opening() as session:
        program = await session.resolve("sh", ["/usr/bin", "/bin"])
        promised(program is not None, "sh resolves on /usr/bin:/bin")
        stage = Stage(("odd name", "-c", 'printf %s "$0"'))
        path = program.path if program else None
        outcome = await session.run(Pipeline((stage,)), programs=[path])
    expect(outcome.stdout.data, b"odd name", "argv[0]")


@check(4)
async def exit_codes_are_told(opening: Opening) -> None:
    """0 to 255, as the program said."""
    async with opening() as session:
        seen = [(await run(session, "sh", "-c", f"exit {code}")).code for code in (0, 1, 77, 255)]
    expect(seen, [0, 1, 77, 255], "exit codes")


@check(4)
async def a_signal_is_told_as_a_signal(opening: Opening) -> None:
    """Not as an exit code."""
    async with opening() as session:
        outcome = await run(session, "sh", "-c", "kill -TERM $$")
    expect((outcome.ending, outcome.code, outcome.signal), (Ending.SIGNALLED, None, 15), "ending")


@check(4)
async def a_missing_program_is_an_outcome(opening: Opening) -> None:
    """Code 127, and a word why."""
    async with opening() as session:
        outcome = await run(session, "no-such-program-here")
    expect((outcome.ending, outcome.code), (Ending.EXITED, 127), "ending of a missing program")
    promised(outcome.start_error, "a program that did not start has a start_error")


@check(4)
async def a_file_that_is_no_program_is_an_outcome(opening: Opening) -> None:
    """Code 126, and a word why."""
    async with opening() as session:
        await session.write_file("plain.txt", b"text", mode=0o644)
        outcome = await run(session, "./plain.txt")
    expect((outcome.ending, outcome.code), (Ending.EXITED, 126), "ending of a plain file")
    promised(outcome.start_error, "a program that did not start has a start_error")


@check(1)
async def stages_are_joined_and_the_last_code_counts(opening: Opening) -> None:
    """All codes are told."""
    stages = (
        Stage(("sh", "-c", "printf 'b\\na\\n'; exit 3")),
        Stage(("sort",)),
        Stage(("sh", "-c", "cat; exit 5")),
    )
    async with opening() as session:
        outcome = await session.run(Pipeline(stages))
    expect((outcome.stdout.data, outcome.codes), (b"a\nb\n", (3, 0, 5)), "pipeline")
    expect(outcome.code, 5, "code of a pipeline")


@check(1)
async def redirections_reach_workspace_files(opening: Opening) -> None:
    """Truncated, appended, read, joined and thrown away, as written."""
    both = "echo out; echo err >&2"
    async with opening() as session:
        await session.write_file("in.txt", b"from a file\n")
        written = Stage(("cat",), stdin=FromFile("in.txt"), stdout=ToFile("out.txt"))
        await session.run(Pipeline((written,)))
        await session.run(
            Pipeline((Stage(("echo", "more"), stdout=ToFile("out.txt", append=True)),))
        )
        joined = await session.run(Pipeline((Stage(("sh", "-c", both), stderr=ToStdout()),)))
        silent = await session.run(Pipeline((Stage(("sh", "-c", both), stderr=NullDevice()),)))
        read = await run(session, "cat", "out.txt")
    expect(read.stdout.data, b"from a file\nmore\n", "file written by redirections")
    expect((joined.stdout.data, joined.stderr.data), (b"out\nerr\n", b""), "2>&1")
    expect((silent.stdout.data, silent.stderr.data), (b"out\n", b""), "2>/dev/null")
