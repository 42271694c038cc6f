"""Reports: a results folder as a page to read, and to keep."""

from sojourn.reporting.report.build import build, write

__all__ = ["build", "write"]
