"""The report of a run: one page that a user can read, print and send."""

from sumbo.report.content import Content, content_of
from sumbo.report.files import report_file, watch, write_report
from sumbo.report.page import render

__all__ = ["Content", "content_of", "render", "report_file", "watch", "write_report"]
