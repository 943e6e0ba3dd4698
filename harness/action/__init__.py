"""One action in a box: judged, asked about, resolved, checked, run."""

from harness.action.consideration import Considered, consider
from harness.action.perform import perform
from harness.action.performed import Performed, StepDone
from harness.action.plan_json import PlanFormError, plan_from_json, plan_to_json
from harness.action.show import plan_line

__all__ = [
    "Considered",
    "Performed",
    "PlanFormError",
    "StepDone",
    "consider",
    "perform",
    "plan_from_json",
    "plan_line",
    "plan_to_json",
]
