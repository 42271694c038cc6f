"""Scenarios and results made by hand, for what needs no simulator."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sojourn import _core, runner
from sojourn.core.scenario import Scenario
from sojourn.core.store import Record, RunKey
from sojourn.core.store.reading import seal
from sojourn.interop.tables import export_run
from sojourn.views.run import Run


def a_scenario(
    *,
    ccs: Sequence[str] = ("cubic", "cubic"),
    delays: Sequence[str] = ("10ms", "10ms"),
    qdisc: str = "fq_codel",
    rate: str = "50Mbit",
    seconds: int = 180,
    seed: int = 1,
    labels: Mapping[str, str] | None = None,
    events: Sequence[object] = (),
    jitter: Sequence[str] = (),
    phases: Sequence[object] = (),
) -> Scenario:
    """Return a resolved scenario with one bottleneck; ``delays`` are one-way, one a flow; ``jitter`` further netems."""
    names = [f"flow-{i + 1}" for i in range(len(ccs))]
    tcp: dict[str, object] = {
        "kind": "tcp",
        "ecn": "default",
        "receive_window": "autotune",
        "offload": False,
        "ignore_ce": False,
    }
    netem = {
        "name": "netem",
        "enabled": True,
        "kind": "netem",
        "chain": ["delay 5ms limit 10000", *jitter],
        "per_flow": [{"flow": name, "delay": delay} for name, delay in zip(names, delays, strict=True)],
    }
    queue = {"name": "qdisc", "enabled": True, "kind": "queue", "shaper": "htb", "rate": rate, "qdisc": qdisc}
    common: dict[str, object] = {
        "stack": "linux-7.3",
        "direction": "down",
        "hops": [0],
        "dscp": "0x00",
        "start": {"at": "0s"},
    }
    ping = {"kind": "ping", "interval": "200ms", "size": 84, "ecn": "Not-ECT"}
    return Scenario(
        {
            "experiment": "by-hand",
            "source": "made by hand",
            "cell": [list(pair) for pair in (labels or {}).items()],
            "seed": seed,
            "origin": "first-flow",
            "duration": f"{seconds}s",
            "warmup": "0s",
            "sample_interval": "500ms",
            "stack": "linux-7.3",
            "hops": [{"name": "bottleneck", "stack": "linux-7.3", "down": [netem, queue], "up": [netem, queue]}],
            "flows": [
                *({"name": n, **common, "traffic": {**tcp, "cc": cc}} for n, cc in zip(names, ccs, strict=True)),
                {"name": "ping", **common, "traffic": ping},
            ],
            "events": list(events),
            "phases": list(phases),
            "windows": [],
            "checks": [],
        }
    )


def tables(scenario: Mapping[str, Any], rates_mbps: Sequence[float], *, step: float = 0.5) -> dict[str, pl.DataFrame]:
    """Return results in which each flow has a constant delivery rate, and the queue a delay of 5 ms."""
    seconds = int(scenario["duration"].removesuffix("s"))
    flows = [flow["name"] for flow in scenario["flows"] if flow["traffic"]["kind"] == "tcp"]
    times = [step * (i + 1) for i in range(int(seconds / step))]
    counts = ("cwnd", "ssthresh", "inflight", "retransmits", "lost", "delivered", "ce", "ece")
    flow_rows = [
        {
            "t_s": t,
            "flow": flow,
            "goodput_bps": rate * 1e6,
            "delivery_rate_bps": rate * 1e6,
            "rtt_s": 0.025,
            "srtt_s": 0.025,
            "rttvar_s": 0.001,
            **dict.fromkeys(counts, 1),
            "pacing_rate_bps": math.nan,
            "state": "Open",
        }
        for t in times
        for flow, rate in zip(flows, rates_mbps, strict=True)
    ]
    queue_counts = ("packets", "bytes", "sent_packets", "sent_bytes", "marks", "drops")
    queue_rows = [
        {
            "t_s": t,
            "queue": "bottleneck.down.qdisc",
            "sojourn_min_s": 0.004,
            "sojourn_mean_s": 0.005,
            "sojourn_max_s": 0.006,
            **dict.fromkeys(queue_counts, round(t * 10)),
        }
        for t in times
    ]
    return {
        "flows": pl.DataFrame(flow_rows).with_columns(pl.col(counts).cast(pl.UInt64)),
        "queues": pl.DataFrame(queue_rows).with_columns(pl.col(queue_counts).cast(pl.UInt64)),
        "pings": pl.DataFrame(
            {
                "t_s": [0.2, 0.4],
                "flow": ["ping", "ping"],
                "rtt_s": [0.021, 0.022],
                "sequence": pl.Series([0, 1], dtype=pl.UInt64),
                "owd_s": [math.nan, math.nan],
                "owd_back_s": [math.nan, math.nan],
                "lost": ["", ""],
            }
        ),
        "events": pl.DataFrame(
            {
                "t_s": [0.0, 30.0],
                "what": ["start", "event"],
                "subject": ["flow flow-1", "event step"],
                "detail": ["", "rate 10Mbit"],
            }
        ),
        "totals": pl.DataFrame({"subject": ["bottleneck.down.qdisc"], "name": ["dropped"], "value": [12.0]}),
    }


def a_key(scenario: Mapping[str, Any] | None = None) -> RunKey:
    """Return what identifies a run of this scenario."""
    [key] = runner.run_keys([_core.Scenario(json.dumps(scenario or a_scenario()))], engine="sim")
    return key


def frames(run: Run) -> dict[str, pl.DataFrame]:
    """Return all tables of a run."""
    return {name: run.table(name) for name in run.tables}


def segments(folder: Path) -> list[Path]:
    """Return the segments of a results folder."""
    return sorted((folder / "segments").iterdir())


def flip(file: Path, place: float) -> None:
    """Flip a bit at a place of a file, 0 its beginning, 1 its end."""
    content = bytearray(file.read_bytes())
    content[int(place * (len(content) - 1))] ^= 1
    file.write_bytes(content)


def forge(folder: Path, head: bytes, *, name: str = "forged", brief: Mapping[str, Any] | None = None) -> None:
    """Add a run with this head and no tables; every checksum fits, as somebody would do who knows the format."""
    own = {
        "experiment": "by-hand",
        "labels": [],
        "seed": 1,
        "cell": "0",
        "engine": "sim",
        "version": "1",
        "repetition": 1,
        "keep": "all",
        "tables": [],
    } | dict(brief or {})
    parts = [name.encode(), json.dumps(own).encode(), head, b"", b""]
    store = _core.Store(folder / "segments")
    store.append(b"".join(len(part).to_bytes(4, "little") + part for part in parts))
    store.close()


def reseal(file: Path, manifest: Mapping[str, Any]) -> None:
    """Write a folder's manifest with the checksum that fits, as somebody would do who knows the format."""
    file.write_bytes(seal(json.dumps({key: own for key, own in manifest.items() if key != "sha256"}, indent=1)))


def exported(record: Record, to: Path) -> Path:
    """Export a stored run; return the file that makes it again."""
    export_run(record, to)
    return to / "scenario.json"
