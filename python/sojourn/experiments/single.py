"""One cell of an experiment file as a file of its own: the labels' settings where they belong, and no axes.

The playground receives it for a stored run, since its controls can then show every setting. The language merges bundles
of settings itself when it resolves a file; here they are merged in its text, and the result is compared with the stored
run. Where it resolves to anything else, there is no such file.
"""

import copy
import json
import tomllib
from collections.abc import Mapping
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.experiments import document

_OF_MANY = ("axis", "exclude", "include", "search")
"""Sections that describe several cells."""


def single(text: str, scenario: Mapping[str, Any]) -> str | None:
    r"""Return a file that resolves to one run, which is this one; None if there is none.

    >>> hop = '[[hop]]\nname = "b"\nrate = "10mbit"\nrtt = "20ms"\n'
    >>> axis = '[axis.queue]\na = { hop.b.qdisc = "pie" }\nb = { hop.b.qdisc = "codel" }\n'
    >>> text = f'[experiment]\nname = "e"\nduration = "10s"\n{hop}[[flow]]\nname = "f"\n{axis}'
    >>> run = json.loads(_core.load(text, "e.toml").scenarios[1].json)
    >>> [line for line in single(text, run).splitlines() if "qdisc" in line or "axis" in line]
    ['qdisc = "codel"']

    Args:
        text: the experiment file that it is from.
        scenario: the run as it is stored.
    """
    try:
        tree = tomllib.loads(text)
        own = _merged(tree, scenario)
        if own is None:
            return None
        seed = scenario["seed"]
        own["experiment"]["seeds"] = 1 if seed == 1 else [seed]
        file = document.toml(**own)
        found = [json.loads(one.json) for one in _core.load(file, "single.toml").scenarios]
    except (SojournError, KeyError, TypeError, ValueError):
        # Expressions of axes and words of plugins: a tree of TOML cannot hold them.
        return None
    same = len(found) == 1 and {**found[0], "cell": []} == {**scenario, "cell": []}
    return file if same else None


def _merged(tree: Mapping[str, Any], scenario: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the tree of a file with the settings of the run's labels; None if a label has none of its own."""
    own = {name: copy.deepcopy(section) for name, section in tree.items() if name not in _OF_MANY}
    labels = dict(scenario["cell"])
    for axis, bundles in tree.get("axis", {}).items():
        bundle = bundles.get(labels.get(axis)) if isinstance(bundles, dict) else None
        if not isinstance(bundle, dict) or not _merge(own, bundle):
            return None
    asked = {check["name"] for check in scenario["checks"]}
    checks = [
        {key: value for key, value in check.items() if key != "only"}
        for check in own.pop("check", [])
        if check.get("name") in asked
    ]
    return {**own, "check": checks} if checks else own


def _merge(place: dict[str, Any], bundle: Mapping[str, Any]) -> bool:
    """Put a bundle of settings over these, items of lists by their names; return whether all have a place."""
    for key, value in bundle.items():
        there = place.get(key)
        if isinstance(there, list) and isinstance(value, dict):
            for name, settings in value.items():
                item = next((item for item in there if isinstance(item, dict) and item.get("name") == name), None)
                if item is None or not isinstance(settings, dict) or not _merge(item, settings):
                    return False
        elif isinstance(there, dict) and isinstance(value, dict):
            if not _merge(there, value):
                return False
        else:
            place[key] = copy.deepcopy(value)
    return True
