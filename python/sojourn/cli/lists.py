"""``sojourn suites``, ``qdiscs``, ``ccs``, ``stacks``."""

import os
from collections.abc import Callable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn.cli.plugins import note_files
from sojourn.cli.screen import out, print_json
from sojourn.core import listings
from sojourn.core.listings import Entry
from sojourn.experiments.catalogue import catalogue


def suites(*, as_json: bool) -> None:
    """List the suites: scenarios with source, runs, simulated time and how long they take here."""
    entries = catalogue()
    if as_json:
        print_json(entries)
        return
    cores = os.cpu_count() or 1
    rows = [
        [
            e["name"],
            str(e["cells"]),
            str(e["runs"]),
            f"{e['simulated_s'] / 3600:.1f}",
            f"{e['expected_cpu_s'] / 60 / cores:.1f}",
            f"{e['about']}\n[{e['source']}]",
        ]
        for e in entries
    ]
    print_table(
        ["suite/scenario", "cells", "runs", "hours", "minutes", "what it is about [source]"], rows, right=(1, 2, 3, 4)
    )
    out().print(f"hours: simulated; minutes: expected on {cores} idle cores, with every seed (--seeds 1 takes a tenth)")


def qdiscs(name: str | None, *, as_json: bool, plugins: list[str]) -> None:
    """List the queue disciplines, or show one."""
    entries = listings.qdiscs(plugins)
    note_files(plugins)
    _list_or_show("queue discipline", entries, name, _show_qdisc, as_json=as_json)


def ccs(name: str | None, *, as_json: bool, plugins: list[str]) -> None:
    """List the congestion controls, or show one."""
    entries = listings.ccs(plugins)
    note_files(plugins)
    _list_or_show("congestion control", entries, name, _show_cc, as_json=as_json)


def stacks(name: str | None, *, as_json: bool) -> None:
    """List the stacks, or show one."""
    _list_or_show("stack", listings.stacks(), name, _show_stack, as_json=as_json)


def _list_or_show(
    kind: str, entries: list[Entry], name: str | None, show: Callable[[Entry], None], *, as_json: bool
) -> None:
    if name is not None:
        entry = listings.named(kind, entries, name)
        if as_json:
            print_json(entry)
        else:
            show(entry)
    elif as_json:
        print_json(entries)
    else:
        print_table(["name", "what it is"], [[e["name"], e["summary"]] for e in entries])


def _show_head(entry: Entry) -> None:
    console = out()
    console.print(Text.assemble((entry["name"], "bold"), f": {entry['summary']}"))
    if entry.get("source"):
        console.print(Text(f"source: {entry['source']}", style="dim"))


def _show_qdisc(entry: Entry) -> None:
    _show_head(entry)
    if entry["options"]:
        rows = [[_usage(o), _default(o), _meaning(o)] for o in entry["options"]]
        print_table(["option", "default", "meaning"], rows)
    else:
        out().print("\nIt has no options.")
    _show_numbers("statistics, as tc -s prints them", entry["counters"])
    _show_numbers("state, as recorded in queue_state", entry["gauges"])


def _show_cc(entry: Entry) -> None:
    _show_head(entry)
    _show_numbers("state, as recorded in flow_state", entry["gauges"])


def _show_stack(entry: Entry) -> None:
    _show_head(entry)
    rows = [[s["name"], str(s["value"]), s["doc"]] for s in entry["switches"]]
    print_table(["switch", "value", "meaning"], rows)


def _show_numbers(title: str, numbers: list[Entry]) -> None:
    if numbers:
        print_table([title, "unit", "meaning"], [[n["name"], n["unit"], n["doc"]] for n in numbers])


def _usage(option: Entry) -> str:
    """Return how an option is written: ``limit PACKETS``, ``[no]ecn``."""
    values = [f"[{v['name']}]" if v["optional"] else v["name"] for v in option["values"]]
    text = " ".join([option["name"], *values])
    others = [*option["aliases"], *([option["off"]] if option["off"] else [])]
    return f"{text} ({', '.join(others)})" if others else text


def _default(option: Entry) -> str:
    """Return the default; where stacks differ, each stack's."""
    if option["unset"] is not None:
        return str(option["unset"]) or "not set"
    defaults: dict[str, str] = {stack: words or "off" for stack, words in option["defaults"].items()}
    if len(set(defaults.values())) <= 1:
        return next(iter(defaults.values()), "")
    return "\n".join(f"{stack}: {words}" for stack, words in defaults.items())


def _meaning(option: Entry) -> str:
    return f"{option['doc']} (only at creation)" if option["fixed"] else str(option["doc"])


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print a table as wide as the terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        table.add_column(
            name,
            justify="right" if index in right else "left",
            overflow="fold",
            no_wrap=index == 0 or index in right,
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out().print(table)
