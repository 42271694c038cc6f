"""Runs as Flent's data files."""

import gzip
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sojourn import _core
from sojourn.core.run import Run
from sojourn.core.scenario import Scenario
from sojourn.core.store import Folder
from sojourn.core.store.atomic import write_file
from sojourn.errors import StoreError
from sojourn.interop.flent.series import DELAY, FLOW_KEYS, OWD_KEYS, SUFFIX, VERSION, Layout, Way

Raw = dict[str, Any]

_BRIDGED: Final = 5
"""Gaps of more steps than these are left open in the results, as Flent leaves them."""


def export_folder(folder: Path, to: Path, down: Way = "download") -> list[Path]:
    """Write every run of a results folder as a file of its name; return the files.

    Args:
        folder: the results folder.
        to: where to; made if need be.
        down: Flent's word for flows with the direction ``down``.

    Raises:
        StoreError: if it is no results folder, is damaged, or the place cannot be written.
    """
    records = Folder.open(folder).records()
    try:
        to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot create {to}: {error.strerror}") from error
    written = []
    for record in records:
        path = to / f"{record.name}{SUFFIX}"
        write_file(path, packed(export(Run.stored(record), path.name, down)))
        written.append(path)
    return written


def packed(data: Mapping[str, Any]) -> bytes:
    """Return the bytes of a file: the same for the same data."""
    return gzip.compress(json.dumps(data, ensure_ascii=False, allow_nan=False).encode(), mtime=0)


def export(run: Run, filename: str, down: Way = "download") -> dict[str, Any]:
    """Return a run in Flent's format.

    The run's origin is dated 2000-01-01, as in captures. Flent's ``T0`` is 5 s before it, since its plots and
    statistics leave out the 5 s before the streams and after them; an origin that is Flent's already is ``T0`` itself.
    Raw values are the recorder's: a row a step of each flow, one a packet of each probe. The series that Flent computes
    itself (sums, averages) are left to it.
    """
    scenario = run.scenario
    layout = Layout.of(scenario, down)
    owd = {flow["name"]: OWD_KEYS[layout.ways[flow["direction"]]] for flow in scenario.flows}
    names = layout.names
    raw: dict[str, list[Raw]] = {series: [] for series in names.values()}
    for row in run.flows.iter_rows(named=True):
        raw[names[row["flow"]]].append(_flow_row(row))
    for row in run.pings.iter_rows(named=True) if "pings" in run.tables else ():
        raw[names[row["flow"]]].append(_ping_row(row, owd[row["flow"]]))
    for rows in raw.values():
        rows.sort(key=lambda r: r["t"])
    clock = _Clock.of(scenario)
    grid = clock.grid()
    results = {series: list(_on_grid(rows, grid, clock)) for series, rows in raw.items()}
    return {
        "version": VERSION,
        "metadata": _metadata(run, layout, filename, clock),
        "x_values": grid,
        "results": results,
        "raw_values": raw,
    }


@dataclass(frozen=True, slots=True)
class _Clock:
    """Flent's clock of a run."""

    t0: float
    """Unix time of Flent's zero."""
    step: float
    length: float
    """Flent's length of the streams, s."""
    end: float
    """Where the data ends, s from its zero."""

    @classmethod
    def of(cls, scenario: Scenario) -> "_Clock":
        step, seconds = _core.parse_span(scenario["sample_interval"]), scenario.seconds
        if scenario["origin"] == "flent":
            return cls(_core.EPOCH, step, max(seconds - 2 * DELAY, 0.0), seconds)
        return cls(_core.EPOCH - DELAY, step, seconds, seconds + DELAY)

    def grid(self) -> list[float]:
        return [round(i * self.step, 9) for i in range(math.floor(self.end / self.step + 1e-9) + 1)]


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(_core.EPOCH + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _time(t: float) -> float:
    """Return a point of the run in Unix time; a double holds it to better than a microsecond."""
    return round(_core.EPOCH + t, 6)


def _flow_row(row: Mapping[str, Any]) -> Raw:
    raw: Raw = {"t": _time(row["t_s"])}
    for key in FLOW_KEYS:
        value = row[key.column]
        if isinstance(value, str):
            raw[key.name] = value
        elif math.isfinite(value):
            raw[key.name] = value * key.factor
    return raw


def _ping_row(row: Mapping[str, Any], owd: Mapping[str, str]) -> Raw:
    raw: Raw = {"t": _time(row["t_s"])}
    if math.isfinite(row["rtt_s"]):
        raw["val"] = row["rtt_s"] * 1e3
    else:
        raw["lost"] = 1
    for column, key in (("sequence", "seq"), *owd.items()):
        value = row.get(column)
        if value is not None and math.isfinite(value):
            raw[key] = value if column == "sequence" else value * 1e3
    return raw


def _on_grid(rows: Sequence[Raw], grid: Sequence[float], clock: _Clock) -> Iterator[float | None]:
    """Yield the value at each point, on the straight line between the samples around it; None outside of them."""
    step = clock.step
    points = [(row["t"] - clock.t0, row["val"]) for row in rows if "val" in row]
    after = 0
    for x in grid:
        while after < len(points) and points[after][0] < x - step * 1e-6:
            after += 1
        if after == len(points):
            yield None
            continue
        (t, value) = points[after]
        if t <= x + step * 1e-6:
            yield value
        elif after == 0 or t - points[after - 1][0] > _BRIDGED * step:
            yield None
        else:
            (before, was) = points[after - 1]
            yield was + (value - was) * (x - before) / (t - before)


def _metadata(run: Run, layout: Layout, filename: str, clock: _Clock) -> dict[str, Any]:
    scenario = run.scenario
    flows = {flow["name"]: flow for flow in scenario.flows}
    streams = [*layout.uploads, *layout.downloads]
    parameters = {"cc_algos": ",".join(flows[name].sender for name in streams)}
    for word, own in (("upload_streams", layout.uploads), ("download_streams", layout.downloads)):
        if own:
            parameters[word] = str(len(own))
    units = {name: "ms" if not flows[name].is_load else "Mbits/s" for name in layout.names}
    return {
        "NAME": layout.test,
        "TITLE": title(scenario),
        "TIME": _date(clock.t0 - _core.EPOCH),
        "T0": _date(clock.t0 - _core.EPOCH),
        "DATA_FILENAME": filename,
        "HOST": "server",
        "HOSTS": ["server"] * max(1, len(streams)),
        "LOCAL_HOST": "client",
        "LENGTH": clock.length,
        "TOTAL_LENGTH": clock.length + 2 * DELAY,
        "STEP_SIZE": clock.step,
        "IP_VERSION": 4,
        "TEST_PARAMETERS": parameters,
        "FLENT_VERSION": f"Sojourn {run.key.version}",
        "BATCH_NAME": scenario.experiment,
        "NOTE": "",
        "SERIES_META": {
            series: {"UNITS": units[name], "IDX": i, "SOJOURN_FLOW": name}
            for i, (name, series) in enumerate(layout.names.items())
        },
        # So that an import restores it.
        "SOJOURN": {
            "label": run.label,
            "engine": run.engine,
            "version": run.key.version,
            "origin": _core.EPOCH,
            "down": layout.ways["down"],
            "scenario": scenario,
        },
    }


def title(scenario: Scenario) -> str:
    """Return a run's attributes as the published harness writes them, ``key:value`` by blanks.

    The axes of the experiment come first; then what readers of such titles look for, where no axis is called so.
    """
    words = {_word(axis): _word(label) for axis, label in scenario.labels}
    loads = scenario.loads
    known: dict[str, str] = {"vs": "-".join(flow.sender for flow in loads)}
    queue = scenario.bottleneck
    if queue is not None:
        known["qdisc"] = queue[1]["qdisc"]
        if "rate" in queue[1]:
            known["bandwidth"] = queue[1]["rate"]
    rtts = list(dict.fromkeys(flow.base_rtt_ms() for flow in loads))
    known |= {f"rtt{i if len(rtts) > 1 else ''}": f"{rtt:g}ms" for i, rtt in enumerate(rtts, 1)}
    known |= {"seed": str(scenario.seed)}
    words = {key: _word(value) for key, value in known.items() if value and key not in words} | words
    return " ".join(f"{key}:{value}" for key, value in words.items())


def _word(text: str) -> str:
    return "_".join(text.replace(":", "_").split())
