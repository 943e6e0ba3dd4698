"""A run to look at: one self-contained HTML file made of a run folder."""

from harness.report.page import render_page, write_report
from harness.report.view import View, view_of

__all__ = ["View", "render_page", "view_of", "write_report"]
