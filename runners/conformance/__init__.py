"""The conformance suite: named checks that every box has to pass, for tests and for operators."""

from runners.conformance.check import BrokenPromiseError, Check, NotHereError, Opening
from runners.conformance.gap import known_gaps
from runners.conformance.suite import CHECKS, Item, check_box, run_check

__all__ = [
    "CHECKS",
    "BrokenPromiseError",
    "Check",
    "Item",
    "NotHereError",
    "Opening",
    "check_box",
    "known_gaps",
    "run_check",
]
