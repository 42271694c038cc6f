"""What many tests are given."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from by_hand import a_key, a_scenario, tables
from sojourn import _core
from sojourn.views.run import Run

Make = Callable[..., Run]


@pytest.fixture
def make_run() -> Make:
    """Return a function that makes a run by hand: a scenario's settings and the flows' rates in Mbit/s."""

    def make(rates_mbps: Sequence[float] = (20.0, 27.0), **settings: Any) -> Run:
        scenario = a_scenario(**settings)
        key = a_key(scenario)
        results = _core.Run(_core.Scenario(json.dumps(scenario)), "sim", "0", tables(scenario, rates_mbps))
        return Run.fresh(key, results)

    return make
