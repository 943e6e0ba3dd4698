"""The two programs that verify inside a box, run here as a box would run them."""

from __future__ import annotations

import hmac
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from harness.verify.parcel import ARGV, parcel

GOOD = "def add(a, b):\n    return a + b\n"
BAD = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n"


class Place:
    """A workspace and a tests folder, and what the watching parent says of them."""

    def __init__(self, root: Path) -> None:
        self.workspace, self.tests = root / "workspace", root / "tests"
        self.workspace.mkdir()
        self.tests.mkdir()
        self.write("tests/test_calc.py", TEST)
        self.wanted = f"{self.tests}/test_calc.py::test_add"
        self.also: list[str] = []

    def write(self, path: str, text: str) -> None:
        file = self.workspace.parent / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))

    def raw(self, *argv: str) -> subprocess.CompletedProcess[str]:
        orders = {
            "nonce": "nonce",
            "argv": list(argv) or [sys.executable, "-m", "pytest", "-q", str(self.tests)],
            "tests": self.also or [self.wanted],
            "guarded": [str(self.tests)],
        }
        done = subprocess.run(
            [sys.executable, *ARGV[1:]],
            input=parcel(orders),
            cwd=self.workspace,
            env={"PATH": "/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            check=False,
            timeout=60,
        )
        texts = done.stdout.decode(), done.stderr.decode()
        return subprocess.CompletedProcess(done.args, done.returncode, *texts)

    def report(self, *argv: str) -> dict:
        seal, _, body = self.raw(*argv).stdout.strip().partition(" ")
        assert seal == hmac.new(b"nonce", body.encode(), "sha256").hexdigest()
        return json.loads(body)

    def passed(self, *argv: str) -> bool:
        """Whether the report speaks for a pass in every respect."""
        report = self.report(*argv)
        return (
            bool(report["passed"])
            and report["code"] == report["finished"] == 0
            and not report["forged"]
            and not report["changed"]
            and report["guarded"]
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_right_result_passes(place: Place) -> None:
    place.write("workspace/calc.py", GOOD)
    assert place.passed()


def test_a_name_of_any_characters_comes_back_as_it_is(place: Place) -> None:
    place.write("workspace/calc.py", GOOD)
    name = 'test_a "b\\c\td\n\u00e9\U0001f600.py'
    place.write(f"tests/{name}", TEST)
    place.wanted = f"{place.tests}/{name}::test_add"
    assert place.report()["passed"] == [place.wanted]


def test_a_wrong_result_does_not_pass(place: Place) -> None:
    place.write("workspace/calc.py", BAD)
    assert not place.passed()


def test_leaving_early_with_code_0_does_not_pass(place: Place) -> None:
    place.write("workspace/calc.py", "import os\nos._exit(0)\n")
    report = place.report()
    assert (report["code"], report["passed"], report["finished"]) == (0, [], None)


def test_a_module_with_the_test_tools_name_is_not_the_test_tool(place: Place) -> None:
    place.write("workspace/calc.py", BAD)
    place.write("workspace/pytest.py", "import sys\nprint('1 passed')\nsys.exit(0)\n")
    assert not place.passed()


def test_a_module_with_a_standard_modules_name_is_not_imported_by_the_tool(place: Place) -> None:
    place.write("workspace/calc.py", GOOD)
    place.write("workspace/doctest.py", "raise SystemExit('shadowed')\n")
    place.write("workspace/json.py", "raise SystemExit('shadowed')\n")
    assert place.passed()


def test_replacing_a_function_of_the_test_tool_is_seen(place: Place) -> None:
    place.write(
        "workspace/calc.py",
        BAD
        + """
import _pytest.runner
original = _pytest.runner.CallInfo.from_call.__func__
def from_call(cls, func, when, reraise=None):
    return original(cls, (lambda: None) if when == "call" else func, when, reraise)
_pytest.runner.CallInfo.from_call = classmethod(from_call)
""",
    )
    assert place.report()["changed"] == ["_pytest.runner.CallInfo.from_call"]


def test_a_plugin_registered_by_code_under_test_is_seen(place: Place) -> None:
    place.write(
        "workspace/calc.py",
        BAD
        + """
import gc, pytest
class Liar:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self):
        outcome = yield
        outcome.get_result().outcome = "passed"
for thing in gc.get_objects():
    if isinstance(thing, pytest.PytestPluginManager):
        thing.register(Liar())
        break
""",
    )
    assert "pytest_runtest_makereport" in place.report()["changed"]


PASSING_TRICKS = {
    "a call that is patched, and put back when all is over": """
        import _pytest.runner as runner
        kept = runner.CallInfo.__dict__["from_call"]
        def from_call(cls, func, when, reraise=None):
            call = kept.__func__(cls, func, when, reraise)
            call.excinfo, call._result = None, None
            if when == "teardown":
                runner.CallInfo.from_call = kept
            return call
        runner.CallInfo.from_call = classmethod(from_call)
    """,
    "reports that are patched during the call, and put back": """
        import _pytest.reports as reports
        kept = reports.TestReport.__dict__["from_item_and_call"]
        def from_item_and_call(cls, item, call):
            report = kept.__func__(cls, item, call)
            report.outcome, report.longrepr = "passed", None
            if call.when == "teardown":
                reports.TestReport.from_item_and_call = kept
            return report
        def add(a, b):
            reports.TestReport.from_item_and_call = classmethod(from_item_and_call)
    """,
    "a class that is exchanged": """
        import _pytest.runner as runner
        class CallInfo(runner.CallInfo):
            @classmethod
            def from_call(cls, func, when, reraise=None):
                return super().from_call((lambda: None) if when == "call" else func, when, reraise)
        runner.CallInfo = CallInfo
    """,
    "a set-up function that empties the test": """
        import sys
        def empty(): pass
        frame = sys._getframe(1)
        while "test_calc" not in frame.f_code.co_filename:
            frame = frame.f_back
        frame.f_globals["setup_function"] = lambda test: setattr(test, "__code__", empty.__code__)
    """,
    "a plugin that takes itself out again": """
        import gc, pytest
        class Liar:
            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_makereport(self, item, call):
                outcome = yield
                outcome.get_result().outcome = "passed"
                if call.when == "teardown":
                    item.config.pluginmanager.unregister(self)
        for thing in gc.get_objects():
            if isinstance(thing, pytest.PytestPluginManager):
                thing.register(Liar())
                break
    """,
    "a tracer that steps over the assertion": """
        import sys
        def step(frame, event, arg):
            if event == "line":
                try:
                    frame.f_lineno = frame.f_code.co_firstlineno + 2
                except ValueError:
                    pass
            return step
        sys.settrace(lambda f, *_: step if f.f_code.co_name == "test_add" else None)
    """,
    "a tracer that steps over the assertion, and takes itself out": """
        import sys
        def step(frame, event, arg):
            if event == "line" and frame.f_lineno == 5:
                frame.f_lineno = 6
                sys.settrace(None)
            return step
        def add(a, b):
            sys._getframe(1).f_trace = step
            sys.settrace(lambda *_: None)
    """,
    "a tracer that replaces the test when its module is read": """
        import sys
        frame = sys._getframe(1)
        while "test_calc" not in frame.f_code.co_filename:
            frame = frame.f_back
        def step(frame, event, arg):
            if event == "return":
                frame.f_globals["test_add"] = lambda: None
                sys.settrace(None)
            return step
        frame.f_trace = step
        sys.settrace(lambda *_: None)
    """,
    "a thread that replaces the test when its module is read": """
        import sys, threading
        sys.setswitchinterval(1e-6)
        def wait(place):
            while "test_add" not in place:
                pass
            place["test_add"] = lambda: None
        frame = sys._getframe(1)
        while "test_calc" not in frame.f_code.co_filename:
            frame = frame.f_back
        threading.Thread(target=wait, args=[frame.f_globals]).start()
    """,
    "code that is exchanged during the call, and put back": """
        import builtins
        import _pytest.reports as reports
        function = reports.TestReport.from_item_and_call.__func__
        builtins.lent = function, function.__code__
        def add(a, b):
            def from_item_and_call(cls, item, call):
                function, function.__code__ = lent
                call.excinfo = None
                return function(cls, item, call)
            function.__code__ = from_item_and_call.__code__
    """,
    "code that is exchanged during the call, of a function that denies its module": """
        import builtins
        import _pytest.reports as reports
        function = reports.TestReport.from_item_and_call.__func__
        builtins.lent = function, function.__code__
        def add(a, b):
            def from_item_and_call(cls, item, call):
                function, function.__code__ = lent
                function.__module__ = "_pytest.reports"
                call.excinfo = None
                return function(cls, item, call)
            function.__module__ = "calc"
            function.__code__ = from_item_and_call.__code__
    """,
}


@pytest.mark.parametrize("trick", PASSING_TRICKS.values(), ids=PASSING_TRICKS)
def test_code_that_bends_a_report_and_hides_it_does_not_pass(place: Place, trick: str) -> None:
    place.write("tests/test_calc.py", TEST + "    done = True\n")
    place.write("workspace/calc.py", BAD + textwrap.dedent(trick))
    assert not place.passed()


@pytest.mark.parametrize("trick", [name for name in PASSING_TRICKS if "exchanged during" in name])
def test_code_that_is_exchanged_and_put_back_is_heard(place: Place, trick: str) -> None:
    place.write("workspace/calc.py", BAD + textwrap.dedent(PASSING_TRICKS[trick]))
    assert place.report()["changed"] == ["TestReport.from_item_and_call"]


UNITTEST = """
import unittest
from calc import add

class TestCalc(unittest.TestCase):
    def test_add(self):
        found = add(2, 2)
        self.assertEqual(found, 4)

    def test_error(self):
        self.assertEqual(add(2, 2), 4)
        with self.assertRaises(ValueError):
            add(2, None)
"""

JUDGES = {
    "a method": """
        import unittest
        kept = unittest.TestCase.assertEqual
        def lie(self, *_):
            unittest.TestCase.assertEqual = kept
        def add(a, b):
            unittest.TestCase.assertEqual = lie
    """,
    "a method of a context": """
        import unittest.case
        kept = unittest.case._AssertRaisesContext.__exit__
        def lie(self, *_):
            unittest.case._AssertRaisesContext.__exit__ = kept
            return True
        def add(a, b):
            unittest.case._AssertRaisesContext.__exit__ = lie
            return 4
    """,
}


@pytest.mark.parametrize("trick", JUDGES.values(), ids=JUDGES)
def test_a_judge_that_is_replaced_and_puts_itself_back_is_seen(place: Place, trick: str) -> None:
    place.write("tests/test_calc.py", UNITTEST)
    test = "test_error" if "context" in trick.casefold() else "test_add"
    place.wanted = f"{place.tests}/test_calc.py::TestCalc::{test}"
    place.write("workspace/calc.py", textwrap.dedent(trick))
    report = place.report(sys.executable, "-m", "pytest", "-q", place.wanted)
    assert report["passed"] == [place.wanted]
    assert {name.rpartition(".")[0] for name in report["changed"]} == {"unittest.case"}


def test_a_test_file_that_is_rewritten_and_written_back_is_seen(place: Place) -> None:
    place.write("tests/test_a.py", "import calc\n\ndef test_a(): pass\n")
    place.write(
        "workspace/calc.py",
        f"""
        from pathlib import Path
        place = Path({str(place.tests / "test_calc.py")!r})
        kept = place.read_text()
        place.write_text("def test_add():\\n    import calc\\n    calc.back()\\n")
        def back():
            place.write_text(kept)
        """,
    )
    report = place.report()
    assert report["changed"] == ["tests/test_calc.py::test_add"]
    assert report["guarded"] is False


def test_a_compiled_module_among_the_tests_is_seen(place: Place) -> None:
    place.write("tests/test_a.py", "import calc\n\ndef test_a(): pass\n")
    place.write("tests/data.py", "TWO = 2\n")
    place.write("tests/test_calc.py", TEST.replace("2, 2", "TWO, TWO") + "\nfrom data import TWO\n")
    place.write(
        "workspace/calc.py",
        BAD
        + f"""
import importlib.util, os, py_compile, shutil
data = {str(place.tests / "data.py")!r}
open("data.py", "w").write("TWO = 8\\n".replace("8", "0"))
shutil.copystat(data, "data.py")
cache = importlib.util.cache_from_source(data)
py_compile.compile("data.py", cache, dfile=data)
""",
    )
    assert any(name.endswith(".pyc") for name in place.report()["changed"])


HONEST = {
    "parametrised": """
        import pytest
        from calc import add
        @pytest.mark.parametrize("a", [2], ids=["[::]"])
        def test_add(a):
            assert add(a, 2) == 4
    """,
    "of a class with fixtures": """
        import pytest
        from calc import add
        @pytest.fixture(autouse=True)
        def around(): yield
        class TestCalc:
            @pytest.fixture(scope="class")
            def two(self): return 2
            @staticmethod
            def test_static(): assert add(2, 2) == 4
            def test_add(self, two, monkeypatch):
                assert add(two, two) == 4
    """,
    "wrapped": """
        import functools
        from unittest import mock
        from calc import add
        def twice(test):
            @functools.wraps(test)
            def run():
                test()
                test()
            return run
        @twice
        @mock.patch("calc.__doc__", "patched")
        def test_add():
            assert add(2, 2) == 4
    """,
    "of unittest": """
        import unittest
        from calc import add
        class Base(unittest.TestCase):
            @classmethod
            def setUpClass(cls): cls.two = 2
            def setUp(self): self.four = 4
            def test_add(self):
                with self.subTest("one"): self.assertEqual(add(self.two, 2), self.four)
        class TestCalc(Base):
            def test_more(self):
                self.assertRaisesRegex(TypeError, "unsupported", add, 1, None)
        class TestAsync(unittest.IsolatedAsyncioTestCase):
            async def test_add(self): self.assertEqual(add(2, 2), 4)
    """,
    "with a tracer of its own": """
        import sys
        from calc import add
        def test_add():
            sys.settrace(None)
            assert add(2, 2) == 4
    """,
    "with the tool's own judges": """
        import warnings
        import pytest
        from calc import add
        def test_add():
            with pytest.raises(TypeError, match="unsupported"):
                add(1, None)
            with pytest.warns(UserWarning):
                warnings.warn("x", UserWarning)
            assert add(0.1, 0.2) == pytest.approx(0.3)
            assert (add, "is never false")
    """,
}


@pytest.mark.parametrize("test", HONEST.values(), ids=HONEST)
def test_a_right_result_passes_every_kind_of_test(place: Place, test: str) -> None:
    place.write("workspace/calc.py", GOOD)
    place.write("tests/test_calc.py", test)
    names = {
        "of unittest": ["Base::test_add", "TestCalc::test_add", "TestAsync::test_add"],
        "parametrised": ["test_add[[::]]"],
        "of a class with fixtures": ["TestCalc::test_add", "TestCalc::test_static"],
    }
    (kind,) = (kind for kind, text in HONEST.items() if text == test)
    place.also = [f"{place.tests}/test_calc.py::{name}" for name in names.get(kind, ["test_add"])]
    report = place.report()
    assert (report["passed"], report["changed"], report["guarded"]) == (place.also, [], True)


def test_what_a_test_itself_patches_and_puts_back_does_no_harm(place: Place) -> None:
    place.write("workspace/calc.py", GOOD)
    patching = """
        import sys
        import pytest
        def test_patching(monkeypatch):
            monkeypatch.setattr("_pytest.runner.CallInfo.from_call", None)
            monkeypatch.undo()
            sys.settrace(lambda *_: None)
            sys.settrace(None)
    """
    place.write("tests/test_calc.py", TEST + textwrap.dedent(patching))
    assert place.passed()


def test_tests_that_change_under_way_are_seen(place: Place) -> None:
    place.write("workspace/calc.py", GOOD)
    place.write("tests/test_zzz.py", "def test_x():\n    assert False\n")
    place.write(
        "workspace/calc.py",
        GOOD + f"\nopen({str(place.tests / 'test_zzz.py')!r}, 'w').write('')\n",
    )
    assert place.report()["guarded"] is False


def test_a_line_written_into_the_report_without_the_key_is_seen(place: Place) -> None:
    place.write(
        "workspace/calc.py",
        BAD
        + """
import os
for fd in range(3, 64):
    try:
        os.write(fd, b'0' * 64 + b' finish\\t0\\n')
    except OSError:
        pass
""",
    )
    assert not place.passed()


def test_killing_the_parent_leaves_no_report(place: Place) -> None:
    place.write("workspace/calc.py", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n")
    done = place.raw()
    assert (done.returncode, done.stdout) == (-9, "")


def test_what_the_tests_print_cannot_be_taken_for_the_report(place: Place) -> None:
    place.write("workspace/calc.py", GOOD)
    done = place.raw(sys.executable, "-c", "print('0' * 64 + ' {}')")
    assert done.stdout.count("\n") == 1


def test_a_child_that_holds_the_pipe_does_not_hold_up_the_report(place: Place) -> None:
    place.write(
        "workspace/calc.py",
        GOOD + "\nimport os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(8)\n"
        "    os._exit(0)\n",
    )
    assert place.passed()


def test_the_environment_of_code_under_test_names_neither_key_nor_pipe(place: Place) -> None:
    place.write(
        "workspace/calc.py",
        GOOD + "\nimport os\nassert not [k for k in os.environ if 'STOCKADE' in k]\n",
    )
    assert place.passed()


def test_a_python_without_the_test_tool_is_said_so(place: Place, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    assert "start_error" in place.report(str(bare), "-m", "pytest", str(place.tests))


def test_a_command_that_does_not_exist_is_said_so(place: Place) -> None:
    assert "start_error" in place.report("/nowhere/pytest")
