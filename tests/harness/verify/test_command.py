from __future__ import annotations

import hmac
import json

import pytest

from harness.task import Check
from harness.verify.command import Wanted, signed_report, weigh
from harness.verify.place import expand_word
from runners import Capture, Ending, Outcome

CHECK = Check(argv=("python3", "-m", "pytest", "tests"), tests=("a.py::test_a",))
WANTED = (Wanted("a.py::test_a", "/tests/a.py"),)
GOOD = {
    "started": True,
    "finished": 0,
    "forged": False,
    "changed": [],
    "passed": ["/tests/a.py::test_a"],
    "ran": 1,
    "guarded": True,
    "code": 0,
}
FINE = Outcome(Ending.EXITED, 0)


def test_a_report_without_any_objection_is_a_pass() -> None:
    assert weigh(CHECK, FINE, GOOD, WANTED).verdict == "passed"


@pytest.mark.parametrize(
    "change",
    [
        {"code": 1},
        {"code": -9},
        {"passed": []},
        {"finished": None},
        {"finished": 1},
        {"forged": True},
        {"changed": ["_pytest.runner.call"]},
        {"guarded": False},
        {"started": False, "finished": None},
    ],
)
def test_any_objection_is_a_failure(change) -> None:
    assert weigh(CHECK, FINE, {**GOOD, **change}, WANTED).verdict == "failed"


def test_no_report_is_a_failure() -> None:
    assert weigh(CHECK, FINE, None, WANTED).verdict == "failed"


def test_a_command_that_cannot_start_is_a_broken_verifier() -> None:
    report = {"start_error": "No such file or directory", "guarded": True}
    assert weigh(CHECK, FINE, report, WANTED).verdict == "broken"


def test_a_box_without_python_is_a_broken_verifier() -> None:
    outcome = Outcome(Ending.EXITED, 127, start_error="no such program")
    assert weigh(CHECK, outcome, None, WANTED).verdict == "broken"


def test_a_test_that_did_not_pass_is_named() -> None:
    assert weigh(CHECK, FINE, {**GOOD, "passed": []}, WANTED).missing == ("a.py::test_a",)


def test_a_command_that_is_no_test_tool_is_judged_by_its_code() -> None:
    check = Check(argv=("make", "check"))
    report = {**GOOD, "started": False, "finished": None, "passed": []}
    assert weigh(check, FINE, report, ()).verdict == "passed"


def test_only_a_report_with_the_right_seal_counts() -> None:
    body = json.dumps(GOOD)
    seals = [hmac.new(key, body.encode(), "sha256").hexdigest() for key in (b"right", b"wrong")]
    outcomes = [Outcome(Ending.EXITED, 0, stdout=said(f"{seal} {body}\n")) for seal in seals]
    assert [signed_report(outcome, "right") for outcome in outcomes] == [GOOD, None]


def said(text: str) -> Capture:
    return Capture(text.encode(), b"", len(text))


@pytest.mark.parametrize(
    ("word", "expanded"),
    [
        ("$STOCKADE_TESTS", "/t"),
        ("$STOCKADE_TESTS/test_a.py", "/t/test_a.py"),
        ("${STOCKADE_TESTS}/x", "/t/x"),
        ("$STOCKADE_TESTSX", "$STOCKADE_TESTSX"),
        ("a$STOCKADE_TESTS", "a$STOCKADE_TESTS"),
        ("$HOME", "$HOME"),
    ],
)
def test_only_a_leading_variable_of_ours_is_replaced(word: str, expanded: str) -> None:
    assert expand_word(word, {"STOCKADE_TESTS": "/t"}) == expanded
