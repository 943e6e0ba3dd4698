"""The append-only record of a run: written, read back and verified."""

from harness.record.chain import FIRST_PREVIOUS, SCHEMA, TYPES, chain_hash
from harness.record.log import EventLog, Fsync
from harness.record.reader import read_events
from harness.record.redaction import redactor
from harness.record.verification import Verification, verify

__all__ = [
    "FIRST_PREVIOUS",
    "SCHEMA",
    "TYPES",
    "EventLog",
    "Fsync",
    "Verification",
    "chain_hash",
    "read_events",
    "redactor",
    "verify",
]
