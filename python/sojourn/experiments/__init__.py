"""Experiments: the suites, files and built ones, resolved into runs."""
