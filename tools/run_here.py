"""What a page of the site needs so that its reader can run a figure's experiment again, in the page.

A block has a run, resolved, and the digests that this build's simulator computes for its tables. The site's script
(web/src/here.js) runs it in the browser and compares. Digests are kept in `target/run-here`, by version and scenario.
"""

import hashlib
import html
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import sojourn
from sojourn import _core, playground

PLAYGROUND: Final = "playground-page.html"
"""Its address in the site."""

CELLS: Final = 16
"""The maximum number of cells of an experiment that one page can run."""

MOST_PACKETS: Final = 2e7
"""Some twenty seconds on a phone; the simulator in the page itself refuses five times as many."""

CACHE: Final = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[1] / "target")) / "run-here"


def digests(scenarios: Sequence[_core.Scenario]) -> list[dict[str, str]]:
    """Return the digest of each table, run by run; those that are known are not run again."""
    CACHE.mkdir(parents=True, exist_ok=True)
    found: dict[int, dict[str, str]] = {}
    files = [CACHE / f"{_name(own)}.json" for own in scenarios]
    missing = []
    for place, file in enumerate(files):
        if file.is_file():
            found[place] = json.loads(file.read_text())
        else:
            missing.append(place)

    def keep(at: int, run: Any) -> None:  # noqa: ANN401 - a run, or what went wrong with it
        if isinstance(run, _core.Run):
            found[missing[at]] = dict(run.digests())
            files[missing[at]].write_text(json.dumps(found[missing[at]]))

    _core.run_many([scenarios[place] for place in missing], threads=os.cpu_count() or 1, on_done=keep)
    return [found[place] for place in range(len(scenarios))]


def of_suite(what: str | Path) -> dict[str, _core.Scenario]:
    """Return a run, seed 1, of the cells of an experiment that a page can run, at most :data:`CELLS`."""
    experiment = sojourn.load(what, seeds=1)
    runs = (
        (", ".join(f"{axis} {label}" for axis, label in key.scenario.labels) or experiment.name, key.resolved)
        for key in experiment.run_keys
    )
    return dict(itertools.islice(((name, own) for name, own in runs if fits(own)), CELLS))


def fits(scenario: _core.Scenario) -> bool:
    """Return whether a page runs this: it has no QUIC or TCP stacks, and refuses more packets than a minute's work."""
    if any(f'"kind":{space}"{kind}"' in scenario.json for kind in ("quic", "tcp_stack") for space in ("", " ")):
        return False
    (foreseen,) = _core.foresee([scenario])
    return foreseen is None or foreseen.packets < MOST_PACKETS


def _name(scenario: _core.Scenario) -> str:
    return hashlib.sha256(f"{_core.version()}\n{scenario.json}".encode()).hexdigest()[:20]


def block(runs: Mapping[str, _core.Scenario], text: str = "") -> str:
    """Return the HTML that the site's script makes a button of.

    Args:
        runs: what can be run, by the name that the reader chooses it by.
        text: the experiment file, which the playground opens; empty if there is none.
    """
    known = digests(list(runs.values()))
    traces: list[Any] = []
    rows = []
    for (name, own), digest in zip(runs.items(), known, strict=True):
        scenario = json.loads(own.json)
        # Cells share the traces of a link, which are most of their text.
        shared = [_place(traces, trace) for trace in scenario.pop("traces", [])]
        rows.append({"name": name, "scenario": scenario, "traces": shared, "digests": digest})
    opened = f"../{PLAYGROUND}{playground.fragment(text)}" if text else ""
    data = {"version": _core.version("sim"), "playground": opened, "traces": traces, "runs": rows}
    # As an attribute and not as a script: Markdown leaves it alone, and a page needs no exception for scripts in it.
    return f'<div class="run-here" data-runs="{html.escape(json.dumps(data, separators=(",", ":")))}"></div>\n'


def _place(found: list[Any], one: object) -> int:
    """Return the place of a value in a list, which gets it if it has not."""
    if one not in found:
        found.append(one)
    return found.index(one)
