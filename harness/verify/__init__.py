"""Whether a result is what was asked for, found out where the agent cannot interfere."""

from harness.verify.place import need_fixed_paths, task_environment
from harness.verify.reward import Reward, RewardError, read_reward
from harness.verify.scene import Scene, set_scene
from harness.verify.verification import Finding, Verdict, Verification
from harness.verify.verify import verify

__all__ = [
    "Finding",
    "Reward",
    "RewardError",
    "Scene",
    "Verdict",
    "Verification",
    "need_fixed_paths",
    "read_reward",
    "set_scene",
    "task_environment",
    "verify",
]
