"""A run from its record: the conversation, step by step, and what it was asked and given."""

from harness.recall.conversation import RecalledCall, RecalledStep, Recollection, recall

__all__ = ["RecalledCall", "RecalledStep", "Recollection", "recall"]
