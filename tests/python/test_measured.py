"""Metrics that read only the tables that they need: they are those of all tables."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import sojourn
from sojourn import _core
from sojourn.core.measured import _needed, measure
from sojourn.errors import UsageError
from sojourn.views.run import Run

ROOT = Path(__file__).parents[2]

OF_FLOWS = (
    *("delivery_rate({flow})", "goodput({flow})", "goodput({flow}) over last 5s", "mean(rtt, {flow})"),
    *("p99(srtt, {flow})", "p99_9(cwnd, {flow})", "max(inflight, {flow})", "median(pacing_rate, {flow}) during late"),
    *("share(goodput, {flow})", "percentile(goodput, 5, {flow})", "min(delivery_rate, {flow})"),
)
OF_QUEUES = (
    *("utilisation({queue})", "mark_fraction({queue})", "marks({queue})", "drops({queue}, overlimit)"),
    *("drops({queue})", "mean(queue_delay, {queue})", "p99(queue_delay_max, {queue})", "max(queue_length, {queue})"),
    *("mean(queue_delay, {queue}) during late", "utilisation({queue}) over last 3s"),
)
OF_ALL = ("jain(goodput)", "sum(delivery_rate)", "jain(delivery_rate) during late")


@pytest.fixture(scope="module")
def runs() -> Sequence[Run]:
    found: list[Run] = []
    for name in ("home-line", "l4s-and-classic", "bufferbloat"):
        text = (ROOT / "examples" / "experiments" / f"{name}.toml").read_text()
        text = re.sub(r'duration *= *"\d+s"', 'duration = "12s"', text)
        text = re.sub(r"(?s)\n\[\[(?:window|check)\]\].*?(?=\n\[\[(?!window|check)|\Z)", "\n", text)
        found += sojourn.parse(f'{text}\n[[window]]\nname = "late"\nfrom = "7s"\nto = "11s"\n', name, seeds=1).run()
    return found


def every(run: Run) -> list[str]:
    flows = [flow["name"] for flow in run.scenario.loads]
    queues = [path for side in ("down", "up") for path, own in run.scenario.elements(side) if own["kind"] == "queue"]
    return [
        *(text.replace("{flow}", flow) for text in OF_FLOWS for flow in flows),
        *(text.replace("{queue}", queue) for text in OF_QUEUES for queue in queues),
        *OF_ALL,
    ]


def said(run: Run, expression: str, by: Callable[[Run, list[str]], list[float]] = Run.measure) -> str:
    """Return a value with all of its digits, or why there is none."""
    try:
        return repr(by(run, [expression])[0])
    except UsageError as error:
        return error.message


def test_a_metric_of_the_tables_that_it_needs_is_that_of_all(runs: Sequence[Run]) -> None:
    compared = 0
    for run in runs:
        for expression in every(run):
            needed = _needed(expression)
            assert needed is not None
            assert needed < set(run.tables), expression
            stored = {name: run.table(name) for name in needed}
            part = Run.fresh(run.key, _core.Run(run.key.resolved, run.engine, run.key.version, stored))
            whole = said(run, expression)
            assert said(part, expression) == whole, expression
            assert said(run, expression, measure) == whole, expression
            compared += whole != "nan"
    assert compared > 200


@pytest.mark.parametrize(
    "expression",
    ["loss_rate(a)", "mean(owd, a)", "mean(sojourn, q.down.qdisc)", "pdv", "convergence_time(goodput, 0.9)", "mine"],
)
def test_what_is_not_known_to_need_less_is_given_all(expression: str) -> None:
    assert _needed(expression) is None
