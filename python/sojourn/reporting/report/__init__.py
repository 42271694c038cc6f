"""Reports: a results folder as a page to read, and to keep."""

from sojourn.reporting.report.build import PANELS, build, write

__all__ = ["PANELS", "build", "write"]
