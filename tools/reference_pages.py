"""Writes the reference from the program's own tables: `python tools/reference_pages.py docs/reference`.

A page for every queue discipline, congestion control and stack; one for all commands with their options; one for
every key of an experiment file, by its path; and one for the Python API. `make docs` writes them, and git ignores them,
because copies go stale. Language, metrics, results and figures come from the same tables; git keeps them, and tests
compare.
"""

import functools
import inspect
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import models
import typer.main

import sojourn
from sojourn import _core
from sojourn.cli.app import app

Entry = Mapping[str, Any]

ARGUMENTS: Final = 2

DISCIPLINES_NEXT: Final = (
    "Next: [compare two queues](../../howto/compare-two-queues.md), [evaluate one by RFC 7928]"
    "(../../evaluate.md#a-queue-by-rfc-7928), [write your own](../../tutorials/own-aqm.md), "
    "[add one to Sojourn](../../howto/add-a-discipline.md).\n\n"
)


def cell(text: object) -> str:
    """Return text for a cell of a table."""
    return str(text).replace("|", r"\|").replace("\n", " ")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; nothing if it has no rows."""
    lines = [f"| {' | '.join(cell(c) for c in row)} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *lines]) + "\n\n"


def sentence(text: str) -> str:
    """Return a summary as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def usage(option: Entry) -> str:
    """Return how an option is written: ``limit PACKETS``; its other names in parentheses."""
    words = [option["name"], *(f"[{v['name']}]" if v["optional"] else v["name"] for v in option["values"])]
    others = [*option["aliases"], *([option["off"]] if option["off"] else [])]
    return f"`{' '.join(words)}`" + (f" (or {', '.join(f'`{o}`' for o in others)})" if others else "")


def default(option: Entry) -> str:
    """Return the default; where stacks differ, each value with its stacks."""
    if option["unset"] is not None:
        return option["unset"] or "not set"
    by_value: dict[str, list[str]] = {}
    for stack, value in option["defaults"].items():
        by_value.setdefault(value or "off", []).append(stack)
    if len(by_value) == 1:
        return f"`{next(iter(by_value))}`"
    return "; ".join(f"`{value}` on {', '.join(stacks)}" for value, stacks in by_value.items())


def numbers(title: str, said: str, entries: Sequence[Entry]) -> str:
    """Return a section of counters or gauges; nothing if there are none."""
    rows = table(["name", "unit", "meaning"], ((f"`{n['name']}`", n["unit"], n["doc"]) for n in entries))
    return f"## {title}\n\n{said}\n\n{rows}" if rows else ""


def discipline(entry: Entry, middle: str = "") -> str:
    """Return the page of an entry with options: a queue discipline, a path element, an application."""
    options = table(
        ["option", "value", "default", "meaning"],
        (
            (
                usage(o),
                "; ".join(v["kind"] for v in o["values"]) or "a flag",
                default(o),
                o["doc"] + (" (only at creation)" if o["fixed"] else ""),
            )
            for o in entry["options"]
        ),
    )
    return (
        f"# {entry['name']}\n\n{sentence(entry['summary'])}\n\nSource: {entry['source']}.\n\n"
        + (f"## Options\n\n{options}" if options else "It has no options.\n\n")
        + middle
        + (DISCIPLINES_NEXT if middle else "")
        + numbers("Statistics", "As `tc -s` prints them; at the end of a run in the table `totals`.", entry["counters"])
        + numbers("State", "Recorded in the table `queue_state`; in metrics `state.NAME`.", entry["gauges"])
    )


def control(entry: Entry, middle: str = "") -> str:
    """Return the page of a congestion control."""
    options = table(
        ["option", "value", "default", "meaning"],
        ((f"`{o['name']}`", o["kind"], f"`{o['default']}`", o["doc"]) for o in entry["options"]),
    )
    return (
        f"# {entry['name']}\n\n{sentence(entry['summary'])}\n\nSource: {entry['source']}.\n\n"
        + (f"## Options\n\nWrite them after the name, as in `tc`.\n\n{options}" if options else "")
        + middle
        + numbers("State", "Recorded in the table `flow_state`; in metrics `state.NAME`.", entry["gauges"])
        + "Next: [all controls compared](../../congestion-controls.md), [evaluate one](../../evaluate.md), "
        "[write your own](../../tutorials/own-control.md).\n"
    )


def stack(entry: Entry) -> str:
    """Return the page of a stack."""
    rows = ((f"`{s['name']}`", f"`{s['value']}`", s["doc"]) for s in entry["switches"])
    return (
        f"# {entry['name']}\n\n{sentence(entry['summary'])}\n\n"
        + (f"Source: {entry['source']}.\n\n" if entry.get("source") else "")
        + f"See [Stacks](../../stacks.md).\n\n{table(['switch', 'value', 'meaning'], rows)}"
    )


def keys(schema: Entry, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield path, value and meaning of every key that a schema allows."""
    for name, own in schema.get("properties", {}).items():
        here = f"{path}{name}"
        inner = own.get("items", own)
        if isinstance(inner, dict) and inner.get("properties"):
            yield here + ("[]" if "items" in own else ""), "table" + "s" * ("items" in own), own.get("description", "")
            yield from keys(inner, f"{here}{'[]' if 'items' in own else ''}.")
        else:
            yield here, value(own), own.get("description", "")


def value(schema: Entry) -> str:
    """Return in a few words what a schema allows."""
    if "enum" in schema:
        return " or ".join(f"`{v}`" for v in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(value(s) for s in schema[several]))
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {value(schema.get('items', {}))}"
    limits = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    return " ".join([kind, *limits])


def commands(command: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - typer's own copy of click has no public types
    """Yield a section for a command, and for those under it."""
    if hasattr(command, "commands"):
        for name, own in command.commands.items():
            yield from commands(own, f"{path} {name}")
        return
    context = command.context_class(command, info_name=path)
    text = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n") if part.strip())
    signature = " ".join([path, *command.collect_usage_pieces(context)])
    rows = [
        (f"`{p.metavar or p.name.upper()}`" if p.param_type_name == "argument" else f"`{'`, `'.join(p.opts)}`", said(p))
        for p in command.params
        if p.name != "help"
    ]
    yield f"## {path}\n\n{plain(text)}\n\n```text\n{signature}\n```\n\n{table(['option', 'meaning'], rows)}"


def said(parameter: Any) -> str:  # noqa: ANN401 - as above
    """Return what a parameter means, with its default."""
    text = plain(" ".join(str(getattr(parameter, "help", "") or "").split()))
    shown = getattr(parameter, "show_default", None)
    fallback = shown if isinstance(shown, str) else parameter.default
    if fallback is None or isinstance(fallback, bool) or fallback == "" or callable(fallback):
        return text
    return f"{text} Default: `{fallback}`."


def plain(text: str) -> str:
    """Return help without the marks that a terminal understands."""
    return text.replace("[b]", "`").replace("[/b]", "`")


def contents(folder: str, title: str, said_first: str, entries: Sequence[Entry]) -> dict[str, str]:
    """Return the page that lists the pages of a folder."""
    rows = ((f"[{e['name']}]({e['name']}.md)", e["summary"]) for e in entries)
    return {f"{folder}/index.md": f"# {title}\n\n{said_first}\n\n{table(['name', 'summary'], rows)}"}


def modelled(kind: str, entry: Entry, folder: Path) -> str:
    """Return the middle of a page: how the code models it, an example with a figure, and the evidence."""
    name = entry["name"]
    return (
        f"## Model and deviations\n\n{models.model(kind, name)}\n\n{models.figure(kind, name, folder / kind)}"
        f"## Evidence\n\n{models.evidence(kind, name)}\n\n"
    )


def pages(folder: Path) -> dict[str, str]:
    """Return every page by its path; draw the figures of disciplines and controls below the folder."""
    qdiscs, ccs, stacks = (json.loads(text) for text in (_core.qdiscs(), _core.ccs(), _core.stacks()))
    elements, links, apps = (json.loads(text) for text in (_core.elements(), _core.links(), _core.apps()))
    schema = json.loads(_core.json_schema())
    found = {
        **contents("disciplines", "Queue disciplines", "As `sojourn qdiscs [NAME]` prints them.", qdiscs),
        **contents("controls", "Congestion controls", "As `sojourn ccs [NAME]` prints them.", ccs),
        **contents("elements", "Path elements", "As `sojourn elements [NAME]` prints them.", elements),
        **contents("links", "Links", "As `sojourn links [NAME]` prints them.", links),
        **contents("applications", "Applications", "As `sojourn apps [NAME]` prints them.", apps),
        **contents("stacks", "Stacks", "As `sojourn stacks [NAME]` prints them.", stacks),
        "keys.md": "# Every key of an experiment file\n\nBy path, from the JSON Schema that `sojourn schema` prints "
        "for editors; `[]` stands for each of several tables. [The experiment language](../language.md) has "
        "defaults and ranges.\n\n"
        + table(["key", "value", "meaning"], ((f"`{path}`", kind, text) for path, kind, text in keys(schema))),
        "python.md": python_api(),
        "commands.md": "# Every command\n\nThe output of `sojourn COMMAND --help`.\n\n"
        + "".join(commands(typer.main.get_command(app), "sojourn")),
    }
    for kind, entries, page in (("disciplines", qdiscs, discipline), ("controls", ccs, control)):
        for entry in entries:
            found[f"{kind}/{entry['name']}.md"] = page(entry, modelled(kind, entry, folder))
    for kind, entries, own in (
        ("elements", elements, discipline),
        ("links", links, discipline),
        ("applications", apps, discipline),
        ("stacks", stacks, stack),
    ):
        found |= {f"{kind}/{entry['name']}.md": own(entry) for entry in entries}
    return found


def python_api() -> str:
    """Return the page of the Python API, from its docstrings."""
    text = (
        "# Python API\n\nThe names of `import sojourn`. Tables are Polars frames; rates are in bit/s, times in "
        "seconds. [Read the tables](../howto/read-tables.md) has examples.\n\n"
    )
    for name in sojourn.__all__:
        item = getattr(sojourn, name)
        text += f"## sojourn.{name}\n\n{documented(name, item)}"
        members = inspect.getmembers(item) if inspect.isclass(item) else []
        for own, member in members:
            shown = inspect.isroutine(member) or isinstance(member, (property, functools.cached_property))
            if shown and not own.startswith("_"):
                text += f"### {name}.{own}\n\n{documented(own, member)}"
    return text


def documented(name: str, item: object) -> str:
    """Return an item's signature and docstring; examples and lists of arguments in blocks, as they are."""
    shown = f"```text\n{name}{inspect.signature(item)}\n```\n\n" if callable(item) and not inspect.isclass(item) else ""
    doc = re.sub(r":(?:meth|func|class|attr|mod):`~?([^`]+)`", r"`\1`", inspect.getdoc(item) or "")
    parts = []
    for part in doc.split("\n\n"):
        kind = (
            "pycon" if part.startswith(">>>") else "text" if re.match(r"(Args|Raises|Returns|Yields):\n", part) else ""
        )
        parts.append(f"```{kind}\n{part}\n```" if kind else part)
    return shown + "\n\n".join(parts) + "\n\n"


def write(folder: Path) -> int:
    """Write every page into a folder, which has nothing else then; return how many."""
    shutil.rmtree(folder, ignore_errors=True)
    found = pages(folder)
    for name, text in found.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return len(found)


if __name__ == "__main__":
    if len(sys.argv) != ARGUMENTS:
        raise SystemExit("usage: python tools/reference_pages.py FOLDER")
    sys.stdout.write(f"wrote {write(Path(sys.argv[1]))} pages to {sys.argv[1]}\n")
