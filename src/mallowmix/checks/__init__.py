"""The data report: how much there is, what in it limits the answer, and what to do about it."""

from mallowmix.checks.data_report import DataReport as DataReport
from mallowmix.checks.data_report import check as check
from mallowmix.checks.data_report import warn_about as warn_about

__all__ = ["DataReport", "check", "warn_about"]
