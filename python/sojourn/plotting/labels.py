"""Labels of axes: the name of a metric or quantity, with the unit in which people read it.

The extension module's table of metrics and quantities has names and base units.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from sojourn import _core

FRACTION: Final = "Fraction of packets (CDF)"
TAIL: Final = "Fraction of packets above (CCDF)"
TIME: Final = "Time (s)"
RATE: Final = "Throughput (Mbit/s)"
"""TCP's delivery rate, of other flows what arrived."""
RTT: Final = "RTT (ms)"
QUEUE_DELAY: Final = "Queue delay (ms)"

_SECONDS_QUANTITIES: Final = frozenset({"completion_time", "buffer"})

_READ: Final = {"s": ("ms", 1e3), "bit/s": ("Mbit/s", 1e-6), "bytes": ("kB", 1e-3), "packets": ("packets", 1.0)}
"""By base unit, in which unit it is read, and what its numbers are multiplied by."""

_OF_MEANS: Final = {"queue_delay": "sojourn"}
"""Quantities recorded as the mean of each sample interval, and the quantity that has the value of every packet. A
percentile or an extreme of means is nearer to the middle than the same of packets: labels name it."""


@dataclass(frozen=True, slots=True)
class Label:
    """The title of an axis."""

    name: str
    unit: str = ""
    """In which the values are read; empty for plain numbers."""
    scale: float = 1.0
    """The factor of a value in base units."""
    top: float | None = None
    """The most that a value can be, where axes should end there: all of a share."""

    def __str__(self) -> str:
        """Return it as it is written: ``Queue delay (ms)``."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


def of_metric(expression: str, interval: str = "") -> Label:
    """Return the title of an axis for a metric.

    >>> str(of_metric("p99(sojourn, {queue})")), str(of_metric("share(goodput, bbr)"))
    ('99th percentile of queue delay (ms)', 'Share of goodput: bbr')
    >>> str(of_metric("p99(queue_delay, {queue})", "50ms")), str(of_metric("max(queue_delay, {queue})"))
    ('99th percentile of 50-ms mean queue delay (ms)', 'Largest interval-mean queue delay (ms)')
    >>> str(of_metric("goodput({flow})")), str(of_metric("goodput(a) / goodput(b)"))
    ('Goodput (Mbit/s)', 'goodput(a) / goodput(b)')

    Args:
        expression: a metric; ``{flow}`` and ``{queue}`` may stand for flows and the bottleneck.
        interval: the sample interval of the runs, ``50ms``; empty where it is not known, or differs.

    Raises:
        UsageError: if it is wrong.
    """
    text = expression
    for place, stands in _PLACES.items():
        text = text.replace(place, stands)
    unit, single = _core.about(text)
    if single is None:
        read, scale = _READ.get(unit, (unit, 1.0))
        return Label(expression, read, scale)
    function, quantity, number, names = single
    read, scale = _unit(function, quantity, unit)
    level = "" if math.isnan(number) else _level(number, quantity)
    of = _quantity(quantity)
    metric = _metrics()[function]
    if quantity in _OF_MEANS and metric["of_single_values"]:
        of = f"{_interval(interval)} {of}"
    said = metric["label"].format(q=of, n=_nth(number), level=level)
    named = [name for name in names if name not in _PLACES.values()]
    top = scale if metric["up_to_all"] else None
    return Label(_capital(said) + (f": {', '.join(named)}" if named else ""), read, scale, top)


def of_means(expression: str, interval: str = "") -> str:
    """Return a sentence about a metric that looks at means where a reader expects packets; empty of any other.

    >>> of_means("p99(queue_delay, {queue})", "50ms")
    'p99(queue_delay, {queue}) is of 50-ms means; p99(sojourn, {queue}) is of every packet'
    >>> of_means("p99(sojourn, {queue})"), of_means("mean(queue_delay, {queue})")
    ('', '')
    """
    text = expression
    for place, stands in _PLACES.items():
        text = text.replace(place, stands)
    _, single = _core.about(text)
    if single is None or not _metrics()[single[0]]["of_single_values"] or single[1] not in _OF_MEANS:
        return ""
    packets = expression.replace(single[1], _OF_MEANS[single[1]], 1)
    return f"{expression} is of {_interval(interval)}s; {packets} is of every packet"


def _interval(interval: str) -> str:
    """Return the name of a value of one sample interval: ``50-ms mean``."""
    number = re.fullmatch(r"([0-9.]+)([a-z]+)", interval)
    return f"{number[1]}-{number[2]} mean" if number else "interval-mean"


_PLACES: Final = {"{flow}": "each-flow", "{queue}": "the-bottleneck"}
"""Names that stand for the places while an expression is read; nobody's flow is called so in a label."""


def of_quantity(name: str) -> Label:
    """Return the title of an axis for the values of a quantity.

    >>> str(of_quantity("owd")), str(of_quantity("sojourn.l")), str(of_quantity("completion_time"))
    ('One-way delay (ms)', 'Queue delay in l (ms)', 'Flow completion time (s)')
    """
    known = {quantity["name"]: quantity["unit"] for quantity in quantities()}
    unit = known.get(name, "s" if name.startswith("sojourn.") else "")
    read, scale = _unit("mean", name, unit)
    return Label(_capital(_quantity(name)), read, scale)


def of_values(name: str, interval: str = "") -> Label:
    """Return the title of an axis for the distribution of a quantity's recorded values.

    >>> str(of_values("queue_delay", "50ms")), str(of_values("sojourn"))
    ('50-ms mean queue delay (ms)', 'Queue delay (ms)')
    """
    label = of_quantity(name)
    return replace(label, name=_capital(f"{_interval(interval)} {_quantity(name)}")) if name in _OF_MEANS else label


def of_column(table: str, column: str) -> Label:
    """Return the title of an axis for a column of a table: its quantity, or its name and the unit at its end.

    >>> str(of_column("flows", "srtt_s")), str(of_column("queues", "packets")), str(of_column("flows", "rttvar_s"))
    ('Smoothed RTT (ms)', 'Queue length (packets)', 'Rttvar (ms)')
    """
    for quantity in quantities():
        if (quantity["table"], quantity["column"]) == (table, column):
            return of_quantity(quantity["name"])
    base = {"bps": "bit/s", "s": "s"}.get(column.rpartition("_")[2], "")
    read, scale = _READ.get(base, ("", 1.0))
    return Label(_capital((column.rpartition("_")[0] if base else column).replace("_", " ")), read, scale)


@cache
def quantities() -> list[dict[str, str]]:
    """Return every quantity: its name, its label, its base unit, and the table and column that have it."""
    found: list[dict[str, str]] = json.loads(_core.metrics())["quantities"]
    return found


@cache
def _metrics() -> dict[str, dict[str, Any]]:
    return {own["name"]: own for own in json.loads(_core.metrics())["functions"]}


@cache
def _labels() -> dict[str, str]:
    return {own["name"]: own["label"] for own in quantities()}


def _quantity(name: str | None) -> str:
    if name is None:
        return ""
    if name in _labels():
        return _labels()[name]
    kind, _, own = name.partition(".")
    return f"queue delay in {own}" if kind == "sojourn" else own or kind


def _unit(function: str, quantity: str | None, unit: str) -> tuple[str, float]:
    read = _metrics()[function]["read"]
    if read == "percent":
        return "%", 100.0
    if unit == "s" and (read == "seconds" or quantity in _SECONDS_QUANTITIES):
        return "s", 1.0
    if read == "things":
        return "", 1.0
    return _READ.get(unit, (unit, 1.0))


def _level(number: float, quantity: str | None) -> str:
    label = of_quantity(quantity) if quantity else Label("")
    return f"{number * label.scale:.4g} {label.unit}".strip()


def _nth(number: float) -> str:
    """Return a percentage as an ordinal.

    >>> _nth(99), _nth(99.9), _nth(1), _nth(12)
    ('99th', '99.9th', '1st', '12th')
    """
    if math.isnan(number):
        return ""
    text = f"{number:g}"
    last = text[-1] if not text.endswith(("11", "12", "13")) else ""
    return text + {"1": "st", "2": "nd", "3": "rd"}.get(last, "th")


def inside(name: str) -> str:
    """Return a name as it is written within a sentence.

    >>> inside("Queue delay"), inside("RTT"), inside("Jain's index of goodput")
    ('queue delay', 'RTT', "Jain's index of goodput")
    """
    return name if name[1:2].isupper() or name.startswith("Jain") else name[:1].lower() + name[1:]


def apart(labels: Mapping[str, Label]) -> dict[str, Label]:
    """Return the labels of several metrics so that no two of them are the same.

    >>> found = apart({m: of_metric(m) for m in ("p99(srtt, a) over all", "p99(srtt, a)", "jain(goodput)")})
    >>> [label.name for label in found.values()][0], found["jain(goodput)"].name
    ('99th percentile of smoothed RTT: a [p99(srtt, a) over all]', "Jain's index of goodput")

    Args:
        labels: by expression.
    """
    texts = [str(label) for label in labels.values()]
    return {
        metric: replace(label, name=f"{label.name} [{metric}]") if texts.count(str(label)) > 1 else label
        for metric, label in labels.items()
    }


def listed(labels: Iterable[Label]) -> str:
    """Return the names of these labels, as a sentence begins with them."""
    first, *others = dict.fromkeys(label.name for label in labels)
    return " and ".join([first, *map(inside, others)])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
