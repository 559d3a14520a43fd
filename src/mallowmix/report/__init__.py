"""The report: one self-contained page about a model and its users, for lay readers."""

from mallowmix.report.contents import Contents as Contents
from mallowmix.report.contents import compute_contents as compute_contents
from mallowmix.report.page import Report as Report
from mallowmix.report.page import make_report as make_report

__all__ = ["Contents", "Report", "compute_contents", "make_report"]
