"""Course labs: exercises with a starting experiment, and marks for what students make of it.

A lab is two files of this folder. ``NAME.toml`` has the text, the questions and what a solution must reach;
``NAME.start.toml`` is the experiment that students edit. :func:`mark` compares a student's experiment with both.
"""

from sojourn.evidence.labs.grading import SEEDS, Item, Mark, mark
from sojourn.evidence.labs.registry import Goal, Kind, Lab, lab, labs

__all__ = ["SEEDS", "Goal", "Item", "Kind", "Lab", "Mark", "lab", "labs", "mark"]
