"""The sets of a score: three that come with Sojourn, and any experiment file with a flow ``tested``."""

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from sojourn.errors import UsageError
from sojourn.experiments import experiment

SETS: Final = ("train", "test", "found")
"""To evolve on; to test on once; and what a search found hard for the controls of Sojourn."""

TESTED: Final = "tested"
"""The flow with the scored control."""


def read(
    name: str, control: str | None = None, settings: Sequence[str] = (), plugins: Sequence[str] = ()
) -> experiment.Experiment:
    """Return a set, one of :data:`SETS` or an experiment file, with a control for its flows ``tested``.

    The control is put into ``let.cc`` where the file has ``${cc}``, and else into ``flow.tested.cc``.

    Raises:
        UsageError: if there is none, or it has no flow ``tested``.
        ExperimentError: if the file has a mistake, or the settings have.
    """
    if name in SETS:
        text = resources.files("sojourn.score").joinpath("sets", f"{name}.toml").read_text(encoding="utf-8")
        file, folder = f"the set {name}", ""
    else:
        path = Path(name)
        if path.suffix != ".toml" or not path.is_file():
            raise UsageError(f'there is no set "{name}"', help=f"one of {', '.join(SETS)}, or an experiment file")
        text, file, folder = path.read_text(encoding="utf-8"), name, str(path.parent)
    path_of_cc = "let.cc" if "${cc}" in text else f"flow.{TESTED}.cc"
    own = [] if control is None else [f"{path_of_cc}={json.dumps(control)}"]
    found = experiment.parse(text, file, settings=[*own, *settings], plugins=plugins, folder=folder)
    for key in found.run_keys:
        if not any(group(flow) == TESTED for flow in key.scenario["flows"]):
            raise UsageError(
                f"{file} has no flow {TESTED} in every cell", help=f'[[flow]]\nname = "{TESTED}"\ncc = "cubic"'
            )
    return found


def group(flow: dict[str, object]) -> str:
    """Return a flow's group, or its name where it stands alone."""
    return str(flow.get("group") or flow["name"])
