"""``sojourn suites``, ``qdiscs``, ``ccs``, ``elements``, ``apps``, ``stacks``."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from rich.text import Text

from sojourn import _core
from sojourn.cli.grid import print_table
from sojourn.cli.plugins import note_files, note_python
from sojourn.cli.screen import out, print_json
from sojourn.core import listings
from sojourn.core.listings import Entry
from sojourn.custom.loading import PREFIX
from sojourn.errors import UsageError
from sojourn.experiments.catalogue import catalogue
from sojourn.linux.kernels import Kernel, named
from sojourn.linux.kernels import kernels as built
from sojourn.runner.progress import span


def suites(name: str | None, *, as_json: bool) -> None:
    """List the scenarios of all suites, one line each; or show those of a suite, or one of them, in full."""
    entries = catalogue(name)
    if as_json:
        print_json(entries)
        return
    if name is None:
        rows = [[e["name"], str(e["runs"]), _minutes(e), e["about"]] for e in entries]
        print_table(["suite/scenario", "runs", "time", "what it is about"], rows, right=(1, 2), prose=(3,), lines=1)
        out().print(f"time: expected on {_cores()}, with every seed; --seeds 1 takes less")
        out().print("details: sojourn suites NAME", markup=False)
        return
    for entry in entries:
        _show_suite(entry)


def _show_suite(entry: dict[str, Any]) -> None:
    console = out()
    console.print(Text.assemble((entry["name"], "bold"), f": {entry['about']}"))
    console.print(Text(f"source: {entry['source'] or 'our own'}"))
    for axis, labels in entry["axes"].items():
        console.print(Text(f"axis {axis}: {', '.join(labels)}"))
    seeds = entry["runs"] / entry["cells"]
    console.print(f"{entry['cells']} cells, {seeds:g} seeds each: {entry['runs']} runs")
    console.print(
        f"cost: {span(entry['simulated_s'])} simulated, about {span(entry['expected_cpu_s'] / (os.cpu_count() or 1))} "
        f"on {_cores()}"
    )
    console.print(f"to run it: sojourn run {entry['name']} -o DIR", soft_wrap=True, markup=False)
    console.print()


def _minutes(entry: dict[str, Any]) -> str:
    return span(entry["expected_cpu_s"] / (os.cpu_count() or 1)).removesuffix(" 0 s")


def _cores() -> str:
    cores = os.cpu_count() or 1
    return f"{cores} idle core{'s'[: cores != 1]}"


def qdiscs(name: str | None, *, as_json: bool, plugins: list[str], engine: str) -> None:
    """List the queue disciplines, or show one; or those that kernels have."""
    if (kernels := _kernels(engine)) is not None:
        entries = _of_kernels(kernels, lambda kernel: kernel.qdiscs, listings.qdiscs())
        _list_or_show_of_kernels("queue discipline", entries, name, as_json=as_json)
        return
    entries = listings.qdiscs(plugins, _classes(name))
    _note(plugins, name)
    _list_or_show("qdiscs", "queue discipline", entries, name, _show_options, as_json=as_json)


def ccs(name: str | None, *, as_json: bool, plugins: list[str], engine: str) -> None:
    """List the congestion controls, those of other authors last, or show one; or those that kernels have."""
    if (kernels := _kernels(engine)) is not None:
        entries = _of_kernels(kernels, lambda kernel: kernel.ccs, listings.ccs())
        _list_or_show_of_kernels("congestion control", entries, name, as_json=as_json)
        return
    entries = listings.ccs(plugins, _classes(name)) + listings.implementations()
    _note(plugins, name)
    _list_or_show("ccs", "congestion control", entries, name, _show_cc, as_json=as_json)


def elements(name: str | None, *, as_json: bool) -> None:
    """List the path elements that words name, or show one."""
    _list_or_show("elements", "path element", listings.elements(), name, _show_options, as_json=as_json)


def links(name: str | None, *, as_json: bool) -> None:
    """List the links that words name, or show one."""
    _list_or_show("links", "link", listings.links(), name, _show_options, as_json=as_json)


def apps(name: str | None, *, as_json: bool) -> None:
    """List the applications that words name, or show one."""
    _list_or_show("apps", "application", listings.apps(), name, _show_options, as_json=as_json)


def _kernels(engine: str) -> list[Kernel] | None:
    """Return the kernels that an engine is: one, or all; None of an engine that is none.

    Raises:
        UsageError: if there is no such engine or kernel, or none has been built.
    """
    plain, _, word = engine.partition(":")
    if plain not in _core.engines():
        raise UsageError.unknown("engine", plain, _core.engines())
    if not _core.facts(plain).kernels:
        return None
    found = [named(word)] if word else built()
    if not found:
        raise UsageError("no kernel is built", help="about ten minutes: sojourn linux build")
    return found


def _of_kernels(kernels: Sequence[Kernel], names: Callable[[Kernel], list[str]], known: Sequence[Entry]) -> list[Entry]:
    """Return the entries of kernels, each with its kernels, and the simulator's summary if it has the entry, too."""
    summaries = {entry["name"]: entry["summary"] for entry in known}
    return [
        {
            "name": name,
            "summary": summaries.get(name, ""),
            "on_the_simulator": name in summaries,
            "kernels": [kernel.label for kernel in kernels if name in names(kernel)],
        }
        for name in sorted({name for kernel in kernels for name in names(kernel)})
    ]


def _list_or_show_of_kernels(kind: str, entries: list[Entry], name: str | None, *, as_json: bool) -> None:
    if name is not None:
        entries = [listings.named(kind, entries, name)]
    if as_json:
        print_json(entries if name is None else entries[0])
        return
    rows = [[e["name"], "yes" if e["on_the_simulator"] else "no", ", ".join(e["kernels"])] for e in entries]
    print_table(["name", "simulator", "kernels that have it"], rows, prose=(2,))


def _classes(name: str | None) -> list[str]:
    """Return the name if it is that of a class in a Python file."""
    return [name] if name is not None and name.startswith(PREFIX) else []


def _note(plugins: list[str], name: str | None) -> None:
    """Print notes on loaded files."""
    note_files(plugins)
    for word in _classes(name):
        note_python(word.removeprefix(PREFIX).rpartition(":")[0])


def stacks(name: str | None, *, as_json: bool) -> None:
    """List the stacks, or show one."""
    _list_or_show("stacks", "stack", listings.stacks(), name, _show_stack, as_json=as_json)


def _list_or_show(
    command: str,
    kind: str,
    entries: list[Entry],
    name: str | None,
    show: Callable[[Entry], None],
    *,
    as_json: bool,
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
        print_table(["name", "what it is"], [[e["name"], e["summary"]] for e in entries], prose=(1,), lines=1)
        out().print(f"details: sojourn {command} NAME", markup=False)
        if command in {"ccs", "qdiscs"}:
            out().print(f"one of yours, in Python: {PREFIX}FILE:CLASS (docs/tutorials/own-control.md)", markup=False)


def _show_head(entry: Entry) -> None:
    console = out()
    console.print(Text.assemble((entry["name"], "bold"), f": {entry['summary']}"))
    if entry.get("source"):
        console.print(Text(f"source: {entry['source']}", style="dim"))


def _show_options(entry: Entry) -> None:
    _show_head(entry)
    if entry["options"]:
        rows = [[_usage(o), _default(o), _meaning(o)] for o in entry["options"]]
        print_table(["option", "default", "meaning"], rows, prose=(0, 1, 2))
    else:
        out().print("\nIt has no options.")
    _show_numbers("statistics, as tc -s prints them", entry["counters"])
    _show_numbers("state, as recorded in queue_state", entry["gauges"])


def _show_cc(entry: Entry) -> None:
    _show_head(entry)
    if "written" in entry:
        _show_implementation(entry)
        return
    if entry["options"]:
        out().print(Text(f'options, behind the name: cc = "{entry["name"]} {_example(entry)}"', style="bold"))
        rows = [[o["name"], o["kind"], o["default"], o["doc"]] for o in entry["options"]]
        print_table(["option", "value", "default", "meaning"], rows, prose=(1, 3))
    _show_numbers("state, as recorded in flow_state", entry["gauges"])


def _example(entry: Entry) -> str:
    """Return how the first option is written."""
    return f"{entry['options'][0]['name']} {entry['options'][0]['default']}"


def _show_implementation(entry: Entry) -> None:
    console = out()
    console.print(Text(f"in a flow: {entry['written']}"))
    for lack in entry["lacks"]:
        console.print(Text(f"without {lack['setting']}: {lack['why']}"))
    if entry["gauges"]:
        _show_numbers("state, as recorded in flow_state", entry["gauges"])
    if not entry["built_in"]:
        console.print(Text("not built in: this build has no implementations by other authors"))


def _show_stack(entry: Entry) -> None:
    _show_head(entry)
    rows = [[s["name"], str(s["value"]), s["doc"]] for s in entry["switches"]]
    print_table(["switch", "value", "meaning"], rows, prose=(2,))


def _show_numbers(title: str, numbers: list[Entry]) -> None:
    if numbers:
        out().print(Text(title, style="bold"))
        print_table(["name", "unit", "meaning"], [[n["name"], n["unit"], n["doc"]] for n in numbers], prose=(2,))


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
