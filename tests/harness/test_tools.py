"""The built-in tools, in a scripted session and in a real box."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import policies
from harness.artifact import ArtifactStore
from harness.message import ToolMessage
from harness.pipeline import Pipeline
from harness.registry import Registry
from harness.result import ToolResult
from harness.tools import builtin_tools
from harness.tools.patch import FilePatch, PatchError, apply_hunks, parse_patch
from policies import Conditions, Isolation
from runners import Ending, LostError, Outcome, ProcessRunner, ScriptedSession, Session, SessionSpec
from tests.harness.doubles import (
    TableJudge,
    agent_of,
    asks,
    call,
    captured,
    exited,
    says,
)

FILE_TOOLS = [
    "read_file",
    "write_file",
    "edit_file",
    "apply_patch",
    "list_dir",
    "find_files",
    "search_text",
]


def judge_of(**programs: str) -> TableJudge:
    return TableJudge(programs=programs, tools=dict.fromkeys(FILE_TOOLS, "allow"))


class Box:
    """The built-in tools in a session, one call at a time."""

    def __init__(self, session: Any, judge: Any, **more: Any) -> None:
        self.session = session
        tools = builtin_tools(session, judge, **more)
        root = session.paths["workspace"]
        self.pipeline = Pipeline(Registry(tools), judge=judge, root=root)

    async def __call__(self, tool: str, /, **arguments: Any) -> ToolResult:
        return await self.pipeline.call(call(tool, arguments))


def scripted(*outcomes: Outcome, files: dict[str, str] | None = None, **more: Any) -> Box:
    judge = more.pop("judge", None) or judge_of(git="allow", cat="allow", ls="allow")
    return Box(ScriptedSession(outcomes, files=files, **more), judge)


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    """A real box; the weakest there is will do for the tools."""
    runner = ProcessRunner()
    probe = await runner.probe()
    if not probe.ok:
        pytest.skip(probe.reason)
    opened = await runner.open(SessionSpec(run="test-tools"))
    yield opened
    await opened.close()


@pytest.fixture
async def box(session: Session) -> Box:
    return Box(session, policies.load("python-dev"))


# --- files -----------------------------------------------------------------------------------


@pytest.mark.req("S-130")
async def test_the_text_of_a_file_is_returned_as_it_is() -> None:
    text = "grün\n  second\r\nlast without newline"
    result = await scripted(files={"a.txt": text})("read_file", path="a.txt")
    assert (result.content, result.value["text"]) == (text, text)


async def test_a_range_of_lines_with_their_numbers() -> None:
    box = scripted(files={"a.txt": "one\ntwo\nthree\n"})
    result = await box("read_file", path="a.txt", start_line=2, end_line=9, numbers=True)
    assert result.content == "     2\ttwo\n     3\tthree\n"
    assert (result.value["end_line"], result.value["total_lines"]) == (3, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"start_line": 3, "end_line": 2}, "$.end_line: must not be before start_line"),
        ({"start_line": 9}, "has only 1 lines"),
        ({"start_line": 0}, "$.start_line: must be at least 1"),
    ],
)
async def test_a_range_that_is_not_there(arguments: dict[str, int], words: str) -> None:
    result = await scripted(files={"a": "x\n"})("read_file", path="a", **arguments)
    assert words in result.content


async def test_an_empty_file_is_empty_text() -> None:
    assert (await scripted(files={"a": ""})("read_file", path="a")).content == ""


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"caf\xe9\n", "caf\ufffd\n[1 byte of the file is not UTF-8; each is shown as \ufffd.]"),
        (
            b"\xff\xfeA",
            "\ufffd\ufffdA\n[2 bytes of the file are not UTF-8; each is shown as \ufffd.]",
        ),
        ("caf\u00e9 \ufffd".encode(), "caf\u00e9 \ufffd"),
    ],
)
async def test_bytes_that_are_no_text_are_counted_and_said(data: bytes, content: str) -> None:
    box = scripted()
    await box.session.write_file("a", data)
    result = await box("read_file", path="a")
    assert (result.ok, result.content) == (True, content)


async def test_what_is_no_text_is_said() -> None:
    result = await scripted(files={"a": "x\0y"})("read_file", path="a")
    assert result.error.type == "NotText"


async def test_a_large_file_is_read_in_pieces() -> None:
    text = "x" * (3 << 20)
    box = scripted(files={"a": text})
    assert (await box("read_file", path="a")).value["text"] == text


@pytest.mark.req("S-131")
async def test_names_of_a_folder_one_a_line_with_folders_marked() -> None:
    box = scripted(files={"b.txt": "", "src/a.py": "", "src/deep/c.py": ""})
    assert (await box("list_dir")).content == "b.txt\nsrc/"
    assert (await box("list_dir", path="src")).content == "a.py\ndeep/"


@pytest.mark.req("S-132")
async def test_a_missing_file_is_named_as_it_was_asked_for() -> None:
    result = await scripted()("read_file", path="none.txt")
    assert (result.error.type, result.content) == (
        "FileNotFound",
        "Failed: read_file: none.txt: no such file",
    )


@pytest.mark.req("S-121")
async def test_three_outcomes_of_a_minimal_executor() -> None:
    """Success, missing file, unknown tool: told apart, and none ends the program."""
    box = scripted(files={"a.txt": "hello"})
    results = [
        await box("read_file", path="a.txt"),
        await box("read_file", path="b.txt"),
        await box("fly"),
    ]
    assert [r.to_dict().get("error_type") for r in results] == [
        None,
        "FileNotFound",
        "UnknownTool",
    ]


async def test_a_file_is_written_whole_and_said_to_be_new_or_replaced() -> None:
    box = scripted(files={"a": "old"})
    assert (await box("write_file", path="a", content="neu")).content == "replaced a (3 bytes)"
    assert (await box("write_file", path="b/c", content="ü")).content == "created b/c (2 bytes)"
    assert box.session.files == {"a": b"neu", "b/c": "ü".encode()}


async def test_an_edit_replaces_the_one_place() -> None:
    box = scripted(files={"a": "one\r\ntwo\nthree\n"})
    result = await box("edit_file", path="a", old="two", new="2")
    assert box.session.files["a"] == b"one\r\n2\nthree\n"
    assert result.content.startswith("edited a at line 2:\n")


@pytest.mark.parametrize(
    ("old", "kind", "words"),
    [
        ("four", "NoMatch", "`old` does not occur"),
        ("t  wo", "NoMatch", "with other whitespace"),
        ("t", "NotUnique", "more than once (on lines 2, 3)"),
    ],
)
async def test_an_edit_that_fits_nowhere_or_twice_changes_nothing(
    old: str, kind: str, words: str
) -> None:
    box = scripted(files={"a": "one\ntwo\nthree\n"})
    result = await box("edit_file", path="a", old=old, new="x")
    assert (result.error.type, box.session.files["a"]) == (kind, b"one\ntwo\nthree\n")
    assert words in result.content


async def test_an_edit_of_a_file_that_changed_meanwhile_is_refused() -> None:
    box = scripted(files={"a": "one"})
    read = box.session.read_file

    async def racing(path: str, **more: Any) -> Any:
        found = await read(path, **more)
        box.session.files["a"] = b"one and more"
        return found

    box.session.read_file = racing
    result = await box("edit_file", path="a", old="one", new="two")
    assert (result.error.type, box.session.files["a"]) == ("FileChanged", b"one and more")


async def test_searching_and_finding() -> None:
    box = scripted(
        files={"a.py": "import os\n", "src/b.py": "x = 1\nimport re\n", "c.txt": "import"}
    )
    assert (await box("find_files", pattern="**/*.py")).content == "a.py\nsrc/b.py"
    assert (await box("search_text", pattern="import", glob="**/*.py")).content == (
        "a.py:1: import os\nsrc/b.py:2: import re"
    )
    assert (await box("search_text", pattern=r"^x\s", regex=True)).content == "src/b.py:1: x = 1"
    assert (await box("search_text", pattern="none")).content == "[no line matches]"
    assert (await box("find_files", pattern="*.rs")).content == "[no file matches]"


async def test_lists_that_are_cut_say_so() -> None:
    files = {f"f{n:04}": "x\n" for n in range(1500)}
    box = scripted(files=files)
    assert (await box("list_dir")).content.endswith("[500 of 1500 names left out]")
    assert "there are more" in (await box("find_files", pattern="*")).content
    assert "only the first 200" in (await box("search_text", pattern="x")).content


# --- patches ---------------------------------------------------------------------------------

PATCH = """\
diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+zwei
 three
--- /dev/null
+++ b/new/x.txt
@@ -0,0 +1,2 @@
+hello
+you
\\ No newline at end of file
"""


async def test_a_patch_changes_and_creates_files() -> None:
    box = scripted(files={"a.txt": "one\ntwo\nthree\n"})
    result = await box("apply_patch", patch=PATCH)
    assert result.content == "changed a.txt\ncreated new/x.txt"
    assert box.session.files == {"a.txt": b"one\nzwei\nthree\n", "new/x.txt": b"hello\nyou"}


async def test_a_patch_that_does_not_fit_changes_nothing_at_all() -> None:
    before = {"a.txt": "one\ntwo\nother\n"}
    box = scripted(files=before)
    result = await box("apply_patch", patch=PATCH)
    assert result.error.type == "NoMatch"
    assert "hunk 1 (line 1) does not fit" in result.content
    assert box.session.files == {"a.txt": b"one\ntwo\nother\n"}


async def test_a_patch_is_judged_for_each_path_and_one_denial_denies_it_whole() -> None:
    judge = judge_of()
    judge.tools = {"apply_patch": "allow", "apply_patch new/x.txt": "deny"}
    box = scripted(files={"a.txt": "one\ntwo\nthree\n"}, judge=judge)
    result = await box("apply_patch", patch=PATCH)
    assert result.error.kind == "denied"
    assert box.session.files == {"a.txt": b"one\ntwo\nthree\n"}
    assert judge.seen == [("apply_patch", ("a.txt",)), ("apply_patch", ("new/x.txt",))]


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ("hello", "line 1: not part of a unified diff"),
        ("--- a/x\n", r"expected '\+\+\+ PATH'"),
        ("--- a/x\n+++ b/x\n", "x has no hunk"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n", "both sides"),
        ("@@ -1 +1 @@\n", "before any"),
        ("--- a/x\n+++ b/x\n@@ bad @@\n", "no valid hunk header"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n", "shorter than its header"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n-b\n+c\n", "longer than its header"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n*a\n", "begins with none of"),
        ('--- "a/x"\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n', "quoted paths"),
        ("Binary files a/x and b/x differ\n", "binary"),
        ("\n", "there is no file in it"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" * 2, "x is patched twice"),
    ],
)
def test_a_faulty_patch_says_where(patch: str, words: str) -> None:
    with pytest.raises(PatchError, match=words):
        parse_patch(patch)


def patched(text: str, *hunks: str) -> str:
    [patch] = parse_patch("--- a/x\n+++ b/x\n" + "".join(hunks))
    return apply_hunks(text, patch)


def test_hunks_that_moved_are_found_nearby() -> None:
    text = "0\n" * 5 + "a\nb\nc\n" + "0\n" * 5 + "d\n"
    first, second = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "@@ -9 +9 @@\n-d\n+D\n"
    assert patched(text, first, second) == text.replace("b", "B").replace("d", "D")


def test_the_nearest_of_several_places_is_taken() -> None:
    text = "a\n" + "0\n" * 8 + "a\n"
    assert patched(text, "@@ -9 +9 @@\n-a\n+b\n") == "a\n" + "0\n" * 8 + "b\n"


def test_the_end_of_a_file_is_kept_or_changed_as_said() -> None:
    none = "\\ No newline at end of file\n"
    assert patched("a", f"@@ -1 +1 @@\n-a\n{none}+b\n{none}") == "b"
    assert patched("a", f"@@ -1 +1 @@\n-a\n{none}+b\n") == "b\n"
    assert patched("a\n", f"@@ -1 +1 @@\n-a\n+b\n{none}") == "b"
    assert patched("a\nz", "@@ -1 +1 @@\n-a\n+b\n") == "b\nz"
    assert apply_hunks("", FilePatch(None, "x", parse_patch(PATCH)[1].hunks)) == "hello\nyou"


# --- paths -----------------------------------------------------------------------------------


@pytest.mark.req("S-122", "S-126")
async def test_relative_and_absolute_paths_below_the_root_are_the_same_file(box: Box) -> None:
    root = box.session.paths["workspace"]
    await box("write_file", path="src/a.txt", content="x")
    for path in ("src/a.txt", "./src/../src/a.txt", f"{root}/src/a.txt"):
        assert (await box("read_file", path=path)).content == "x"
    assert (await box("list_dir", path=root)).content == (await box("list_dir")).content == "src/"


@pytest.mark.req("S-123", "S-127", "S-128")
@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "/", "..", "~/x"])
async def test_a_path_outside_is_refused_by_name_and_the_run_goes_on(box: Box, path: str) -> None:
    for tool, more in (
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"old": "a", "new": "b"}),
        ("list_dir", {}),
    ):
        result = await box(tool, path=path, **more)
        assert not result.ok
        assert path in result.content
    assert (await box("list_dir")).ok


@pytest.mark.req("S-124")
async def test_a_link_that_leads_outside_is_refused(box: Box) -> None:
    program = "import os; os.symlink('/etc', 'out'); os.symlink('/etc/passwd', 'file')"
    await box("write_file", path="link.py", content=program)
    made = await box("run_command", argv=["python3", "link.py"])
    assert made.content.startswith("[exit code 0]")
    for path in ("out/passwd", "file"):
        assert not (await box("read_file", path=path)).ok
        assert not (await box("write_file", path=path, content="x")).ok
        denied = await box("run_command", argv=["cat", path])
        assert denied.error.kind == "denied"
        assert "path-escape" in denied.content


@pytest.mark.req("S-125")
async def test_a_sibling_that_shares_the_roots_name_is_outside(box: Box) -> None:
    root = box.session.paths["workspace"]
    for path in (f"{root}-evil/x", f"../{Path(root).name}-evil/x"):
        assert not (await box("write_file", path=path, content="x")).ok


@pytest.mark.req("S-129")
async def test_confinement_does_not_depend_on_the_policy_or_on_any_prompt(session: Session) -> None:
    """A judge that allows everything: the session itself still refuses."""
    box = Box(session, judge_of())
    root = session.paths["workspace"]
    for path in ("../../etc/passwd", "/etc/passwd", f"{root}/../etc/passwd", f"{root}/./../etc"):
        for tool, more in (("read_file", {}), ("write_file", {"content": "x"}), ("list_dir", {})):
            result = await box(tool, path=path, **more)
            assert (result.ok, result.error.type) == (False, "PathEscape"), (tool, path)


# --- commands --------------------------------------------------------------------------------


@pytest.mark.req("S-133", "S-135")
async def test_a_line_becomes_argument_arrays_and_no_shell_sees_it(session: Session) -> None:
    judge = policies.load("python-dev")
    spy = ScriptedSession([exited(0)])
    await Box(spy, judge)("run_command", line="git log --oneline -n 3 | head -n 1")
    [run] = spy.runs
    assert [stage.argv for stage in run.pipeline.stages] == [
        ("git", "log", "--oneline", "-n", "3"),
        ("head", "-n", "1"),
    ]
    shells = await Box(session, judge)("run_command", argv=["sh", "-c", "id"])
    assert shells.error.kind == "denied"


@pytest.mark.req("S-134")
async def test_a_program_that_no_rule_names_does_not_run(box: Box) -> None:
    for argv in (["nc", "-l"], ["/bin/sh"], ["./run.sh"], ["bash", "-c", "id"], ["sudo", "id"]):
        assert (await box("run_command", argv=argv)).error.kind == "denied"


@pytest.mark.req("S-136")
async def test_a_command_is_started_without_a_shell(box: Box) -> None:
    program = "import os\nprint(open(f'/proc/{os.getppid()}/cmdline').read().replace('\\0', ' '))"
    await box("write_file", path="parent.py", content=program)
    result = await box("run_command", argv=["python3", "parent.py"])
    assert "sh " not in result.content.split("]")[1]


@pytest.mark.req("S-137")
async def test_what_a_shell_would_read_reaches_the_program_as_text(box: Box) -> None:
    await box("write_file", path="argv.py", content="import sys; print(sys.argv[1:])")
    words = ["a; touch x", "b | c", "$(touch y)", "`touch z`", "*", "&& d", "> e", "$HOME"]
    result = await box("run_command", argv=["python3", "argv.py", *words])
    assert result.content == f"[exit code 0]\n{words}"
    assert (await box("list_dir")).content == "argv.py"


async def test_exactly_one_form_of_a_command() -> None:
    box = scripted(exited(0))
    for given in ({}, {"argv": ["ls"], "line": "ls"}, {"line": "ls", "plan": [[["ls"]]]}):
        result = await box("run_command", **given)
        assert "needs exactly one of argv, line and plan" in result.content
    assert box.session.runs == []


async def test_all_faults_of_a_plan_are_told_with_their_places() -> None:
    plan = [[["ls", 1]], "and", {"cd": 3}, ";", [{"argv": [], "x": 1}], "&&"]
    result = await scripted()("run_command", plan=plan)
    for place in (
        "$.plan[0][0][1]: must be a string",
        "$.plan[1]: must be a link",
        "$.plan[2]: must be a list of stages",
        "$.plan[4][0].x: is not declared",
        "$.plan[4][0].argv: must be a list of words",
        "$.plan: ends with a link",
    ):
        assert place in result.content


async def test_a_plan_runs_by_its_links_and_tells_all_codes(box: Box) -> None:
    await box("write_file", path="a/x.txt", content="b\na\n")
    plan = [
        {"cd": "a"},
        "&&",
        [["sort", "x.txt"], {"argv": ["cat"], "stdout": {"file": "y.txt"}}],
        "&&",
        [["cat", "y.txt"]],
        "&&",
        [["cat", "none"]],
        "&&",
        [["ls"]],
        "||",
        [["echo", "rescued"]],
    ]
    result = await box("run_command", plan=plan)
    assert result.content.startswith(
        "[exit code 0] (codes of all programs: 0 | 0; 0; 1; 0) (1 of 6 parts did not run)\n"
        "a\nb\nrescued"
    )


async def test_a_denial_in_the_middle_of_a_plan_is_told_and_counted() -> None:
    judge = judge_of(ls="allow", cat="allow")
    session = ScriptedSession(lambda _: exited(0, "out\n"))
    box = Box(session, judge)
    batch = await box.pipeline.run([call("run_command", {"line": "ls; cat *.none; ls"})])
    [result] = batch.results
    assert result.content == (
        "[exit code 0] (1 of 3 parts did not run)\n"
        "[denied from there on: the pattern *.none matches no file in the workspace "
        "[plan:glob-empty]]\nout"
    )
    assert (result.ok, batch.denials, len(session.runs)) == (True, 1, 1)


async def test_standard_input_is_given_as_data(box: Box) -> None:
    result = await box("run_command", argv=["cat"], stdin="grün\n")
    assert result.content == "[exit code 0]\ngrün"
    here = await box("run_command", line="cat <<'EOF' > h.txt\n$HOME `id`\nEOF\ncat h.txt")
    assert here.content.endswith("$HOME `id`")


async def test_a_time_limit_is_the_commands_and_is_told(session: Session) -> None:
    policy = policies.load("python-dev")
    limits = policies.Limits(wall_seconds=0.3)
    box = Box(session, policy, limits=limits)
    await box(
        "write_file", path="slow.py", content="import time; print(1, flush=True); time.sleep(60)"
    )
    result = await box("run_command", line="python3 slow.py; echo never")
    assert "timed out after 0." in result.content
    assert "never" not in result.content
    assert "(1 of 2 parts did not run)" in result.content
    assert result.content.endswith("1")


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(Ending.SIGNALLED, signal=11, codes=(-11,)), "[ended by signal 11]"),
        (
            Outcome(Ending.KILLED_BY_LIMIT, limit="memory_mib", codes=(-9,)),
            "[killed by the limit memory_mib]",
        ),
        (
            Outcome(Ending.EXITED, 127, start_error="no such file", codes=(127,)),
            "[exit code 127: no such file]",
        ),
        (exited(3, "out\n", "err\n"), "[exit code 3]\nout\n[stderr]\nerr"),
    ],
)
async def test_how_a_command_ended_is_the_first_line(outcome: Outcome, words: str) -> None:
    result = await scripted(outcome)("run_command", argv=["git"])
    assert (result.ok, result.content) == (True, words)


async def test_output_that_was_cut_in_the_box_says_how_much_is_missing() -> None:
    from runners import Capture

    capture = Capture(b"head\n", b"tail\n", 1000)
    outcome = Outcome(Ending.EXITED, 0, stdout=capture, codes=(0,))
    result = await scripted(outcome)("run_command", argv=["git"])
    assert "[... 990 of 1000 bytes left out ...]" in result.content


async def test_a_program_that_is_not_in_the_box_is_a_failure_of_its_own() -> None:
    result = await scripted(programs={})("run_command", argv=["git"])
    assert result.error.type == "NoSuchProgram"


async def test_a_program_below_the_workspace_is_not_the_one_that_a_rule_names() -> None:
    result = await scripted(programs={"git": "/workspace/bin/git"})("run_command", argv=["git"])
    assert "program-path" in result.content


async def test_a_rule_that_needs_a_stronger_box_is_refused_with_the_reason() -> None:
    judge = judge_of(git="allow")
    judge.conditions = Conditions(isolation=Isolation.KERNEL)
    result = await scripted(judge=judge)("run_command", argv=["git"])
    assert "it needs isolation level kernel, and this session has container" in result.content


async def test_a_rule_that_needs_the_network_is_refused() -> None:
    judge = judge_of(git="allow")
    judge.conditions = Conditions(network=("example.org",))
    result = await scripted(judge=judge)("run_command", argv=["git"])
    assert "network-unavailable" in result.content


async def test_a_lost_box_is_no_failure_of_the_tool() -> None:
    with pytest.raises(LostError):
        await scripted()("run_command", argv=["git"])


async def test_cancelling_a_run_ends_its_command_at_once(session: Session) -> None:
    import asyncio

    from harness.signal import Signal

    box = Box(session, policies.load("python-dev"))
    await box("write_file", path="slow.py", content="import time; time.sleep(60)")
    signal = Signal()
    running = asyncio.create_task(
        box.pipeline.call(call("run_command", {"argv": ["python3", "slow.py"]}), signal=signal)
    )
    await asyncio.sleep(0.3)
    signal.cancel()
    result = await asyncio.wait_for(running, 5)
    assert result.error.kind == "aborted"


async def test_a_long_output_is_read_back_from_its_artifact(tmp_path) -> None:
    store = ArtifactStore(tmp_path / "artifacts")
    text = "".join(f"line {n}\n" for n in range(10_000))
    judge = judge_of(git="allow")
    session = ScriptedSession([Outcome(Ending.EXITED, 0, stdout=captured(text), codes=(0,))])
    agent = agent_of(
        asks(("run_command", {"argv": ["git", "log"]})),
        says("ok"),
        tools=builtin_tools(session, judge, artifacts=store),
        policy=judge,
        artifacts=store,
    )
    result = await agent.run("go")
    [message] = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert len(message.content) < 31_000
    identity = message.content.split('"id": "')[1].split('"')[0]
    piece = await agent.pipeline.call(call("read_artifact", {"id": identity, "offset": 20_000}))
    assert text[20_000 - 14 :].startswith(piece.value["text"])
    assert "more characters: offset 40000]" in piece.content
    missing = await agent.pipeline.call(call("read_artifact", {"id": "a-0"}))
    assert missing.error.type == "NoSuchArtifact"


@pytest.mark.parametrize("name", FILE_TOOLS)
async def test_silence_of_the_policy_denies_a_tool(name: str) -> None:
    box = scripted(judge=TableJudge(), files={"a": "x"})
    given = {
        "read_file": {"path": "a"},
        "write_file": {"path": "a", "content": ""},
        "edit_file": {"path": "a", "old": "x", "new": "y"},
        "apply_patch": {"patch": PATCH},
        "find_files": {"pattern": "*"},
        "search_text": {"pattern": "x"},
    }.get(name, {})
    assert (await box(name, **given)).error.kind == "denied"
    assert (await box("finish", answer="x")).ok


async def test_readonly_allows_no_tool_that_writes(session: Session) -> None:
    box = Box(session, policies.load("readonly"))
    assert (await box("list_dir")).ok
    for name, given in (
        ("write_file", {"path": "a", "content": "x"}),
        ("edit_file", {"path": "a", "old": "x", "new": "y"}),
        ("apply_patch", {"patch": PATCH}),
    ):
        assert (await box(name, **given)).error.kind == "denied"
