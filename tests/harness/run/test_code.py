from __future__ import annotations

import pytest

from harness.run.code import exit_code

CASES = [
    (("completed", "passed"), {}, 0),
    (("completed", "failed"), {}, 1),
    (("completed", "none"), {}, 0),
    (("completed", "broken"), {}, 8),
    (("step_limit", "none"), {}, 6),
    (("step_limit", "failed"), {}, 6),
    (("step_limit", "passed"), {}, 0),
    (("tool_limit", "failed"), {}, 6),
    (("time_limit", "failed"), {}, 6),
    (("token_limit", "failed"), {}, 6),
    (("step_limit", "broken"), {}, 8),
    (("model_error", "none"), {}, 7),
    (("model_error", "passed"), {}, 7),
    (("model_error", "broken"), {}, 8),
    (("infrastructure", "none"), {}, 3),
    (("infrastructure", "broken"), {}, 3),
    (("aborted", "none"), {"stopped": 130}, 130),
    (("infrastructure", "none"), {"stopped": 143}, 143),
    (("aborted", "none"), {}, 130),
    (("completed", "failed"), {"unanswered": 1}, 5),
    (("completed", "passed"), {"unanswered": 1}, 0),
    (("completed", "none"), {"unanswered": 1}, 5),
    (("step_limit", "failed"), {"unanswered": 1}, 6),
    (("completed", "passed"), {"denials": 2}, 0),
    (("completed", "passed"), {"denials": 2, "fail_on_denial": True}, 4),
    (("completed", "passed"), {"denials": 0, "fail_on_denial": True}, 0),
    (("completed", "failed"), {"denials": 2, "fail_on_denial": True}, 1),
    (("completed", "none"), {"denials": 2, "fail_on_denial": True}, 4),
]


@pytest.mark.parametrize(("ended", "more", "code"), CASES)
def test_the_first_case_that_applies_is_the_exit_code(ended, more, code) -> None:
    assert exit_code(*ended, **more) == code
