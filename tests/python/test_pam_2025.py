"""known-results/pam-2025: the bed's table, the blind prediction as it stood, and the page."""

import pam_2025 as tool
import pytest

from sojourn.experiments.experiment import load


def test_every_measured_cell_is_a_cell_of_the_suite() -> None:
    measured, predicted = tool.bed()
    cells = {tuple(label for _, label in key.scenario.labels) for key in load(tool.SUITE, seeds=1).run_keys}
    assert set(measured) == set(predicted) == cells
    assert len(cells) == 225


def test_the_prediction_is_what_was_published() -> None:
    measured, predicted = tool.bed()
    own = tool.errors(measured, predicted)
    assert [sum(error <= limit for error in own) for limit in tool.CLOSE] == [164, 199, 211]
    assert sorted(own)[112] == pytest.approx(0.009, abs=0.0005)


def test_the_page_is_that_of_the_stored_runs() -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.written(page) == page, "run tools/pam_2025.py --page"


def test_a_cell_run_again_is_what_the_file_has() -> None:
    labels = {"queue": ["FQ_Codel"], "buffer": ["2"], "rival": ["cubic_ecn"]}
    for variant in tool.VARIANTS:
        stored = tool.builds_of_file()[variant]
        assert len(stored) == 225
        for cell, values in tool.run(variant, labels).items():
            assert [f"{value:.2f}" for value in values] == [f"{value:.2f}" for value in stored[cell]], (
                f"the code has moved on: run tools/pam_2025.py --only {variant}, then read the page"
            )
