"""A recorded run again: driven by its recorded answers, or judged under another policy."""

from harness.replay.comparison import Comparison, Divergence
from harness.replay.redecide import Redecision, redecide
from harness.replay.replaying import Replayed, replay

__all__ = ["Comparison", "Divergence", "Redecision", "Replayed", "redecide", "replay"]
