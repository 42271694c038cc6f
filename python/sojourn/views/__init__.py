"""What people see of results: summaries, tables, remarks, figures by name, and runs and results with all of these.

Views import data (:mod:`sojourn.core`); data imports no view.
"""
