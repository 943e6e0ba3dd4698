"""Verification by a command, its exit code, and the tests it must report as passed.

The command runs below a parent of ours that takes the tests' reports and speaks only after the
command ended (``box/watch.py``), signed with a nonce that never enters the command's process.
"""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass, replace
from typing import Any

from harness.printed import tail
from harness.task import Check
from harness.verify.parcel import ARGV, parcel
from harness.verify.place import expand_word, task_environment
from harness.verify.verification import Verification
from policies import FromText, Limits, Pipeline, Stage
from runners import Capture, Ending, Outcome, Session

__all__ = ["Wanted", "verify_by_command"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A test that must be reported as passed.

    Attributes:
        id: as the task writes it.
        path: the absolute path of its file in the box.
    """

    id: str
    path: str

    @property
    def address(self) -> str:
        """As the plugin reports it."""
        return f"{self.path}::{self.id.partition('::')[2]}"


async def verify_by_command(
    session: Session,
    check: Check,
    limits: Limits,
    wanted: tuple[Wanted, ...],
    guarded: tuple[str, ...],
) -> Verification:
    """Run the command under the watching parent and weigh its report.

    Args:
        session: a fresh one; the result and the tests are in place.
        check: the command, its code and the tests.
        limits: of the command.
        wanted: the tests with their files in the box.
        guarded: folders in the box whose files must be the same at the end.
    """
    environment = task_environment(session)
    nonce = secrets.token_hex(32)
    orders = {
        "nonce": nonce,
        "argv": [expand_word(word, environment) for word in check.argv],
        "tests": [test.address for test in wanted],
        "guarded": list(guarded),
    }
    stage = Stage(ARGV, stdin=FromText(parcel(orders)))
    outcome = await session.run(
        Pipeline((stage,)), env={**environment, **dict(check.env)}, limits=limits
    )
    report = signed_report(outcome, nonce)
    return weigh(check, outcome, report, wanted)


def signed_report(outcome: Outcome, nonce: str) -> dict[str, Any] | None:
    """The parent's report, or None where there is none with the right seal."""
    seal, _, body = outcome.stdout.data.decode("utf-8", "replace").strip().partition(" ")
    good = hmac.new(nonce.encode(), body.encode(), "sha256").hexdigest()
    if not hmac.compare_digest(seal.encode(), good.encode()):
        return None
    report: dict[str, Any] = json.loads(body)
    return report


def weigh(
    check: Check, outcome: Outcome, report: dict[str, Any] | None, wanted: tuple[Wanted, ...]
) -> Verification:
    """The verdict; the first ground that speaks against a pass is the reason."""
    output = tail_of_errors(outcome)
    if outcome.start_error:
        reason = f"the image has no python3 to watch the tests with: {outcome.start_error}"
        return Verification("broken", reason, output=output)
    if outcome.ending is Ending.TIMED_OUT:
        reason = "the verification ran into its time limit"
        return Verification("failed", reason, output=output)
    if report is None:
        reason = "the verification was ended before it could report"
        return Verification("failed", reason, output=output)
    if report.get("start_error"):
        reason = f"{check.argv[0]} cannot start: {report['start_error']}"
        return Verification("broken", reason, output=output)
    missing = tuple(test.id for test in wanted if test.address not in set(report["passed"]))
    reason = objection(check, report, missing)
    if reason:
        return Verification("failed", reason, 0.0, missing, output=output)
    return Verification("passed", grounds(check, wanted), 1.0, output=output)


def objection(check: Check, report: dict[str, Any], missing: tuple[str, ...]) -> str:
    """Why this is not a pass, or nothing."""
    if report["forged"]:
        return "a test report does not carry the right seal"
    if report["changed"]:
        return (
            f"the test tool or a test was changed while it ran: {', '.join(report['changed'][:3])}"
        )
    if not report["guarded"]:
        return "the task's own tests were changed while they ran"
    if report["code"] != check.exit:
        return f"the command ended with {report['code']}, not {check.exit}"
    if missing:
        return f"{len(missing)} of {len(check.tests)} tests were not reported as passed"
    if (report["started"] or uses_pytest(check)) and report["finished"] != report["code"]:
        return "the test tool did not report its own end"
    return ""


def uses_pytest(check: Check) -> bool:
    """Whether the command is the test tool whose reports we can take."""
    return any(word.rpartition("/")[2] in {"pytest", "py.test"} for word in check.argv[:4])


def grounds(check: Check, wanted: tuple[Wanted, ...]) -> str:
    """Why this is a pass, in one sentence."""
    if not wanted:
        return f"the command ended with {check.exit}; no test was named"
    return f"the command ended with {check.exit}; all {len(wanted)} named tests passed"


def tail_of_errors(outcome: Outcome) -> str:
    """What the command printed: the parent sends all of it to standard error."""
    return tail(replace(outcome, stdout=Capture()))
