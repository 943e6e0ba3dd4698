"""One tool call from the model's text to the result that the model reads."""

from harness.pipeline.admission import Admission
from harness.pipeline.batch import Batch, Scheduler
from harness.pipeline.conclusion import CONTENT_CHARACTERS, Conclusion
from harness.pipeline.dispatch import Denial, Dispatch
from harness.pipeline.pipeline import Pipeline

__all__ = [
    "CONTENT_CHARACTERS",
    "Admission",
    "Batch",
    "Conclusion",
    "Denial",
    "Dispatch",
    "Pipeline",
    "Scheduler",
]
