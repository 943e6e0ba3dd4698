"""The append-only record of a run: written, read back and verified."""

from harness.record.chain import FIRST_PREVIOUS, SCHEMA, TYPES, chain_hash, encode_body
from harness.record.hold import held
from harness.record.log import EventLog, Fsync, Redactor
from harness.record.parts import parts
from harness.record.reader import read_events
from harness.record.redaction import MARK, redactor
from harness.record.verification import Verification, scan, verify

__all__ = [
    "FIRST_PREVIOUS",
    "MARK",
    "SCHEMA",
    "TYPES",
    "EventLog",
    "Fsync",
    "Redactor",
    "Verification",
    "chain_hash",
    "encode_body",
    "held",
    "parts",
    "read_events",
    "redactor",
    "scan",
    "verify",
]
