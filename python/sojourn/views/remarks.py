"""What the results of runs say that their numbers hide.

Who was limited by something else than queue and congestion control, and which rates swing more slowly than the
measuring window can see.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import polars as pl

from sojourn import _core
from sojourn.core.run import Run
from sojourn.core.scenario import Element, Flow, rate_mbit
from sojourn.views.window import span_said

LIMITED: Final = 0.1
"""From this share of the window on a flow counts as limited by something."""

_FRAME: Final = 1514
_NAMED: Final = 4
_MIB: Final = 1024 * 1024
"""A tc size of 1mb."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know before the numbers of a run are believed."""

    about: str
    """What it names: ``machine``, which disturbed the run; ``cwnd``, which is many times the path's; a setting,
    ``receive_window``, ``send_buffer``, ``app_rate``, ``max_pacing_rate``; ``window``, which holds too few periods; or
    ``slow start``, which the window holds."""
    flows: tuple[str, ...]
    message: str
    help: str
    enough: float | None = None
    """Of ``window``: the length that would do, s."""

    def __str__(self) -> str:
        """Return it in one line."""
        return f"{self.message} ({self.help})"

    def json(self) -> Mapping[str, Any]:
        """Return it for programs, and as it is stored with its run."""
        return {**asdict(self), "flows": list(self.flows)}


@dataclass(frozen=True, slots=True)
class SharedRemark:
    """A remark that is true of several runs, as it is of the first."""

    remark: Remark
    runs: int
    first: str
    """The first run's label."""

    def __str__(self) -> str:
        """Return it in one line with the runs."""
        others = f" and {self.runs - 1} more" if self.runs > 1 else ""
        return f"{self.first}{others}: {self.remark}"

    def json(self) -> Mapping[str, Any]:
        """Return it for programs."""
        return {**self.remark.json(), "runs": self.runs, "first": self.first}


def remarks(run: Run) -> list[Remark]:
    """Return what is to be said of a run: as it was stored, or found anew."""
    stored = run.stored_remarks
    if stored is not None:
        return [
            Remark(str(r["about"]), tuple(map(str, r["flows"])), str(r["message"]), str(r["help"]), r.get("enough"))
            for r in stored
        ]
    overgrown = _overgrown(run)
    large = {flow for own in overgrown for flow in own.flows}
    # A window of many times the path fills any buffer: the buffer is not what is to be larger.
    limited = [own for own in _limited(run) if own.about not in _BUFFERS or not large.issuperset(own.flows)]
    starting = _starting(run, large.union(*(own.flows for own in limited)))
    return [*_not_valid(run), *overgrown, *starting, *limited, *_swinging(run)]


# --- the machine -----------------------------------------------------------------------------------------------------


def _not_valid(run: Run) -> list[Remark]:
    """Return that the machine disturbed a run on a wall clock, with the numbers that have limits (docs/live.md)."""
    if "totals" not in run.tables:
        return []
    of_machine = run.totals.filter(pl.col("subject").cast(pl.String) == "live")
    found = dict(of_machine.select(pl.col("name").cast(pl.String), "value").iter_rows())
    if found.get("valid", 1.0) != 0.0:
        return []
    message = (
        f"the run is not valid: 99 % of the packets left within {found['lateness_p99_s'] * 1e3:.2f} ms of their time, "
        f"{found['socket_drops'] + found['unsent_packets']:.0f} were lost outside of the queues, "
        f"and the relay was busy for {found['relay_cpu_share']:.0%} of the run"
    )
    return [Remark("machine", (), message, "run it on an idle machine; docs/live.md has the limits")]


def shared_remarks(runs: Iterable[Run]) -> list[SharedRemark]:
    """Return the remarks on many runs: each once for the same flows and the same setting.

    If windows hold too few periods, an experiment gets one remark, from the run that needs the longest window.
    """
    found: dict[tuple[str, str, tuple[str, ...]], SharedRemark] = {}
    for run in runs:
        for remark in remarks(run):
            of_window = remark.about == "window"
            key = (run.scenario.experiment, remark.about, () if of_window else remark.flows)
            known = found.get(key)
            if known is None:
                found[key] = SharedRemark(remark, 1, run.label)
            elif of_window and (remark.enough or 0.0) > (known.remark.enough or 0.0):
                found[key] = SharedRemark(remark, known.runs + 1, run.label)
            else:
                found[key] = SharedRemark(known.remark, known.runs + 1, known.first)
    return list(found.values())


# --- slow start ------------------------------------------------------------------------------------------------------

_INFINITE: Final = 0x7FFF_FFFF
"""The slow-start threshold of a flow that has none yet (``TCP_INFINITE_SSTHRESH``)."""

_SETTLED: Final = 10
"""So many base RTTs after slow start the queue that it built may still stand."""


def _starting(run: Run, limited: Collection[str]) -> list[Remark]:
    """Return who was in slow start when the measuring window began, or not :data:`_SETTLED` base RTTs behind it.

    Asked of TCP flows that last and have a control with a threshold, unlike BBR's. A flow that has none in all of
    the run has never lost or been marked, and counts only as long as its window grows. One that something else limits
    (``limited``) waits in slow start, and builds no queue.
    """
    window = run.window()
    flows = [
        flow
        for flow in run.scenario.loads
        if flow.kind == "tcp"
        and flow["traffic"].get("bytes") is None
        and not flow.sender.startswith("bbr")
        and flow.name not in limited
    ]
    if window is None or not flows or "flows" not in run.tables:
        return []
    begin, end = window
    ended: dict[str, float | None] = {}
    for flow in flows:
        rows = run.flows.filter(pl.col("flow").cast(pl.String) == flow.name).select("t_s", "ssthresh", "cwnd")
        out = rows.filter(pl.col("ssthresh") < _INFINITE)["t_s"]
        settles = _SETTLED * flow.base_rtt_ms() / 1e3
        if len(out) and float(out[0]) + settles > begin:
            ended[flow.name] = float(out[0])
        elif not len(out) and _grows(rows.filter((pl.col("t_s") > begin) & (pl.col("t_s") <= end))["cwnd"]):
            ended[flow.name] = None
    if not ended:
        return []
    last = max((at for at in ended.values() if at is not None), default=None)
    lasts = f"lasts until {last:.3g} s" if last is not None and None not in ended.values() else "has not ended"
    names = tuple(ended)
    return [
        Remark(
            "slow start",
            names,
            f"slow start of {_listed(names)} {lasts}, and the measuring window is {span_said(window)}: rates and "
            "delays are those of the start, with the queue that it builds",
            "let the run last longer, or begin the window later",
        )
    ]


def _grows(cwnd: pl.Series) -> bool:
    return len(cwnd) > 1 and float(cwnd[-1]) > _GROWN * float(cwnd[0])


_GROWN: Final = 1.5
"""A congestion window that is so many times as large at the window's end still grows as in slow start."""


# --- windows of many times the path ----------------------------------------------------------------------------------

OVERGROWN: Final = 10
"""From so many bandwidth-delay products on a congestion window is more than an AQM should let it have."""

_FIFOS: Final = frozenset({"pfifo", "bfifo", "pfifo_fast"})
_LEAST_PACKETS: Final = 100
_BUFFERS: Final = frozenset({"receive_window", "send_buffer"})


def _overgrown(run: Run) -> list[Remark]:
    """Return which flows had a window of :data:`OVERGROWN` bandwidth-delay products or more behind an AQM."""
    window = run.window()
    if window is None or "flows" not in run.tables:
        return []
    begin, end = window
    found: dict[str, tuple[int, float]] = {}
    for flow in run.scenario.loads:
        queue, needs = _queue(flow), _needs(flow)
        if flow.kind != "tcp" or queue is None or needs is None or not needs[0]:
            continue
        if str(queue["qdisc"]).split()[0] in _FIFOS:
            continue
        rows = run.flows.filter(pl.col("flow").cast(pl.String) == flow.name, pl.col("t_s").is_between(begin, end))
        most = int(rows["cwnd"].max() or 0)  # type: ignore[arg-type] # a count
        times = most * _FRAME / needs[0]
        if most >= _LEAST_PACKETS and times >= OVERGROWN:
            found[flow.name] = most, times
    if not found:
        return []
    names = tuple(found)
    windows = " and ".join(f"{most} packets, {times:.0f} times" for most, times in found.values())
    return [
        Remark(
            "cwnd",
            names,
            f"the congestion window of {_listed(names)} reaches {windows} the bandwidth-delay product of the path, in "
            f"the measuring window of {span_said(window)}: the queue does not hold this sender, and delays and rates "
            "are those of its overshoot",
            "look at its window and its marks over time: sojourn plot DIR timeseries",
        )
    ]


# --- limited by something else ---------------------------------------------------------------------------------------


def _limited(run: Run) -> list[Remark]:
    """Return who was limited by what for :data:`LIMITED` of the window or more.

    Asked of TCP connections that last. That an adaptive stream or a source that is on and off by turns has nothing to
    send at times is what it is there for; a pacing rate is a limit of its own only if it is the one that was set.
    """
    flows = [flow for flow in run.scenario.loads if flow.kind == "tcp"]
    if not flows or "limits" not in run.tables:
        return []
    tables = [name for name in ("flows", "limits", "events") if name in run.tables]
    metrics = (
        "rwnd_limited({})",
        "sndbuf_limited({})",
        "app_limited({})",
        "pacing_limited({})",
        "max(pacing_rate, {})",
    )
    found = iter(run.measured([metric.format(flow.name) for flow in flows for metric in metrics], tables))
    limited: dict[str, list[tuple[Flow, float, tuple[float, float] | None]]] = {}
    for flow in flows:
        own = [next(found) for _ in metrics]
        receive_window, send_buffer, application, pacing, pacing_rate = (measured.value for measured in own)
        window = own[0].windows[0] if own[0].windows else None
        traffic = flow["traffic"]
        shares = {"receive_window": receive_window, "send_buffer": send_buffer}
        if "app_rate" in traffic:
            shares["app_rate"] = application
        if "max_pacing_rate" in traffic and pacing_rate >= 0.99 * _core.parse_rate(traffic["max_pacing_rate"]):
            shares["max_pacing_rate"] = pacing
        for about, share in shares.items():
            if share >= LIMITED:
                limited.setdefault(about, []).append((flow, share, window))
    return [_of_limit(about, limited[about]) for about in _WORDS if about in limited]


_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "receive_window": ("its receive window", "their receive windows"),
    "send_buffer": ("its send buffer", "their send buffers"),
    "app_rate": ("its application, which writes at its app_rate", "their applications, which write at their app_rate"),
    "max_pacing_rate": ("its max_pacing_rate", "their max_pacing_rate"),
}


def _of_limit(
    about: str,
    limited: Sequence[tuple[Flow, float, tuple[float, float] | None]],
) -> Remark:
    names = tuple(flow.name for flow, _, _ in limited)
    least, most = min(share for _, share, _ in limited), max(share for _, share, _ in limited)
    low, high = f"{100 * least:.0f}", f"{100 * most:.0f}"
    window = limited[0][2]
    when = f" from {span_said(window)}" if window else ""
    by = _WORDS[about][len(names) > 1]
    message = (
        f"{_listed(names)} {'is' if len(names) == 1 else 'are'} limited by {by} for "
        f"{low if low == high else f'{low} to {high}'} % of the time{when}: rates and shares then say nothing about "
        "the queue or the congestion control"
    )
    return Remark(about, names, message, _remedy(about, [flow for flow, _, _ in limited]))


def _remedy(about: str, flows: Sequence[Flow]) -> str:
    """Return what would not limit: a value that fills the path and the buffer before it."""
    needs = [need for flow in flows if (need := _needs(flow)) is not None]
    rates = [rate for flow in flows if (rate := _rate(flow)) is not None]
    match about:
        case "receive_window":
            return _large_enough(needs, about, 1.0) or "give the flow a larger receive_window"
        case "send_buffer":
            # The application is woken when two thirds of twice the buffer are left; a packet takes up to 2728 bytes.
            larger = _large_enough(needs, about, 1.5) or "give the flow a larger send_buffer"
            return (
                larger
                if any("send_buffer" in flow["traffic"] for flow in flows)
                else f"{larger}; unless given it ends at the stack's tcp_wmem"
            )
        case _:
            more = f", or set it above the bottleneck's {max(rates) / 1e6:g}mbit" if rates else ""
            return f"leave {about} out{more}"


def _large_enough(needs: Sequence[tuple[float, float]], about: str, times: float) -> str:
    """Return a size of a window or buffer that fills the path and the queue; empty if nobody can say."""
    if not needs:
        return ""
    bdp, buffer = max(needs, key=sum)
    holds = "the same again for the buffer" if buffer == bdp else f"{buffer:,.0f} that the buffer holds"
    enough = (bdp + buffer) * times
    size = f"{math.ceil(enough / _MIB)}mb" if enough > _MIB else f"{math.ceil(enough / 1024)}k"
    over = "" if times == 1 else f", {times:g} times over for what packets cost beside their payload"
    return f'{about} = "{size}" would do: the path\'s BDP of {bdp:,.0f} bytes and {holds}{over}'


def _queue(flow: Flow) -> Element | None:
    """Return the slowest queue that a flow's data pass."""
    hops = {flow.scenario["hops"][index]["name"] for index in flow["hops"]}
    own = [
        (rate, index, element)
        for index, (path, element) in enumerate(flow.scenario.elements(flow["direction"]))
        if element["kind"] == "queue" and path.split(".")[0] in hops and (rate := rate_mbit(element)) is not None
    ]
    return min(own)[2] if own else None


def _rate(flow: Flow) -> float | None:
    queue = _queue(flow)
    mbit = None if queue is None else rate_mbit(queue)
    return None if mbit is None else mbit * 1e6


def _needs(flow: Flow) -> tuple[float, float] | None:
    """Return the BDP of a flow's path in bytes, and what its buffer holds: as much again where that is not known."""
    queue, rate = _queue(flow), _rate(flow)
    if queue is None or rate is None:
        return None
    bdp = rate / 8 * flow.base_rtt_ms() / 1e3
    packets = re.fullmatch(r"pfifo\s+limit\s+(\d+)", str(queue["qdisc"]).strip())
    return bdp, float(packets[1]) * _FRAME if packets else bdp


# --- rates that swing ------------------------------------------------------------------------------------------------

_ENOUGH: Final = 10
"""A window of so many periods is long enough."""


def _swinging(run: Run) -> list[Remark]:
    found = run.swing() if "flows" in run.tables else None
    if found is None:
        return []
    flows, alternate, period, window = found
    names = tuple(flows)
    if alternate:
        does = f"{_listed(names)} alternate"
    elif len(names) == 1:
        does = f"the rate of {names[0]} goes up and down"
    else:
        does = f"the rates of {_listed(names)} go up and down"
    held = (window[1] - window[0]) / period
    enough = _ENOUGH * period
    return [
        Remark(
            "window",
            names,
            f"{does} with a period of about {_round(period)} s: the measuring window from {span_said(window)} holds "
            f"{held:.1f} of them, and rates, shares and Jain's index depend on where it lies",
            f"let the run last longer and measure over {_round(enough)} s or more",
            enough,
        )
    ]


def _round(seconds: float) -> str:
    """Return a time to two digits, as people write it.

    >>> _round(178.7), _round(1787.0), _round(4.53), _round(0.123)
    ('180', '1800', '4.5', '0.12')
    """
    return f"{float(f'{seconds:.2g}'):g}"


def _listed(names: Sequence[str]) -> str:
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
