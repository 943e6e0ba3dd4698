"""Many tasks, one command, one verdict that a machine can use."""

from harness.batch.job import BatchJob, BatchOptions, make_batch
from harness.batch.running import run_batch
from harness.batch.score import Score, batch_code

__all__ = ["BatchJob", "BatchOptions", "Score", "batch_code", "make_batch", "run_batch"]
