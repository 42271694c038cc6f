"""Experiments that a program describes, written out as the experiment language has them.

The arguments mirror TOML: a keyword is a section of the file, or a setting of its ``[experiment]``. The text
is then parsed as any file is, so that there is one parser, one set of names and defaults, and errors name the place.
"""

import functools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import tomli_w

from sojourn import _core
from sojourn.errors import UsageError

EXPERIMENT: Final = "experiment"


def toml(**said: object) -> str:
    """Return an experiment file.

    >>> hop = {"name": "b", "rate": "10mbit"}
    >>> print(toml(name="one", duration="10s", hop=[hop], flow=[{"name": "f", "cc": "reno"}]))
    [experiment]
    name = "one"
    duration = "10s"
    <BLANKLINE>
    [[hop]]
    name = "b"
    rate = "10mbit"
    <BLANKLINE>
    [[flow]]
    name = "f"
    cc = "reno"
    <BLANKLINE>

    Args:
        said: sections (``hop``, ``flow``, ``axis``, ``event``, …) as lists and mappings, and the settings of
            ``[experiment]`` (``name``, ``duration``, ``seeds``, …). Settings of an axis may be paths:
            ``axis={"rtt": {"20ms": {"hop.b.rtt": "20ms"}}}``. Settings of None are omitted.

    Raises:
        UsageError: if there is no such section or setting, with the nearest, or a value is nothing that TOML can say.
    """
    known = _sections()
    settings = known[EXPERIMENT]
    own: dict[str, object] = {}
    sections: dict[str, object] = {}
    for name, value in said.items():
        if value is None:
            continue
        # A ping may be switched off ([experiment] ping = false) or described ([ping]).
        if name in known and not (name in settings and isinstance(value, bool)):
            sections[name] = value
        elif name in settings:
            own[name] = value
        else:
            renamed = _core.renamed_key(f"[{EXPERIMENT}]", name)
            raise UsageError.unknown("section or setting of an experiment", name, [*known, *settings], renamed)
    given = sections.pop(EXPERIMENT, {})
    if not isinstance(given, Mapping):
        raise UsageError(f"{EXPERIMENT} is a mapping of settings, not {type(given).__name__}")
    if isinstance(sections.get("axis"), Mapping):
        sections["axis"] = _axes(sections["axis"])
    tree = {EXPERIMENT: {**given, **own}, **sections}
    return "\n".join(_written(name, _plain(value, name)) for name, value in tree.items())


def dumbbell(
    *,
    rate: object,
    rtt: object,
    qdisc: object,
    flows: str | Sequence[str | Mapping[str, object]],
    duration: str,
    name: str,
    said: Mapping[str, object],
) -> str:
    """Return the file of flows over one bottleneck; as :meth:`sojourn.Experiment.dumbbell`."""
    hop: dict[str, object] = {"name": "bottleneck"}
    axes: dict[str, object] = {}
    for setting, value in (("rate", rate), ("rtt", rtt), ("qdisc", qdisc)):
        labels = _labels(value)
        if labels is None:
            hop[setting] = value
        else:
            axes[setting] = {label: {f"hop.bottleneck.{setting}": own} for label, own in labels.items()}
    further = said.get("axis") or {}
    if not isinstance(further, Mapping):
        raise UsageError(f"axis is a mapping of labels by axis, not {type(further).__name__}")
    axes |= further
    described: list[dict[str, object]] = [
        {"cc": flow} if isinstance(flow, str) else dict(flow) for flow in _listed(flows)
    ]
    return toml(
        **{
            "name": name,
            "duration": duration,
            **said,
            "axis": axes or None,
            "hop": [hop, *_listed_tables(said.get("hop"))],
            "flow": _named(described),
        }
    )


def _listed(flows: str | Sequence[str | Mapping[str, object]]) -> Sequence[str | Mapping[str, object]]:
    return [flows] if isinstance(flows, (str, Mapping)) else flows


def _listed_tables(value: object) -> list[object]:
    return list(value) if isinstance(value, Sequence) else []


def _labels(value: object) -> dict[str, object] | None:
    """Return the labels of a setting that varies: those of a mapping, or the values of a list; None if it does not."""
    if isinstance(value, Mapping):
        return {str(label): own for label, own in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {str(own): own for own in value}
    return None


def _named(flows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return the flows, each called after its congestion control, with a number where several have the same."""
    count = Counter(flow.get("cc") for flow in flows if "name" not in flow)
    seen: Counter[object] = Counter()
    named = []
    for flow in flows:
        cc = flow.get("cc")
        if "name" in flow or not isinstance(cc, str):
            named.append(flow)
            continue
        seen[cc] += 1
        named.append({"name": f"{cc}-{seen[cc]}" if count[cc] > 1 else cc, **flow})
    return named


@functools.cache
def _sections() -> Mapping[str, frozenset[str]]:
    """Return the sections of the language, and of each that has one the names of its settings."""
    schema = json.loads(_core.json_schema())
    return {name: frozenset(own.get("properties", ())) for name, own in schema["properties"].items()}


def _axes(axes: Any) -> dict[str, Any]:  # noqa: ANN401 - what is wrong in it the parser says
    """Return axes with settings as tables instead of paths."""
    return {
        axis: {str(label): _spread_out(settings) for label, settings in labels.items()}
        if isinstance(labels, Mapping)
        else labels
        for axis, labels in axes.items()
    }


def _spread_out(settings: object) -> object:
    if not isinstance(settings, Mapping):
        return settings
    tree: dict[str, Any] = {}
    for path, value in settings.items():
        *way, last = str(path).split(".")
        place = tree
        for part in way:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise UsageError(f'"{path}" is a setting of "{part}", which has a value already')
        own = _spread_out(value)
        if isinstance(own, dict) and isinstance(place.get(last), dict):
            place[last] |= own
        else:
            place[last] = own
    return tree


def _plain(value: object, path: str) -> object:
    """Return a value as TOML has them."""
    match value:
        case Mapping():
            return {str(key): _plain(own, f"{path}.{key}") for key, own in value.items() if own is not None}
        case str() | bool() | int() | float():
            return value
        case list() | tuple() | range():
            return [_plain(own, f"{path}[{index}]") for index, own in enumerate(value)]
        case _:
            raise UsageError(f"{path} is {type(value).__name__}, which an experiment file cannot say")


def _written(name: str, value: object) -> str:
    """Return one section. A list of tables is written as one table each, which is how people write them."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return "\n".join(f"[[{name}]]\n{_settings(one)}" for one in value)
    if isinstance(value, dict) and value and all(not isinstance(one, dict) for one in value.values()):
        return f"[{name}]\n{_settings(value)}"
    return tomli_w.dumps({name: value})


def _settings(table: Mapping[str, Any]) -> str:
    """Return the settings of a table, those that are tables in braces."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")


def _value(value: Any) -> str:  # noqa: ANN401 - what TOML can say
    match value:
        case dict():
            inside = ", ".join(f"{_key(key)} = {_value(own)}" for key, own in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case list():
            return f"[{', '.join(_value(own) for own in value)}]"
        case _:
            return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")
