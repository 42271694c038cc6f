"""What identifies a run."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from sojourn import _core
from sojourn.core.scenario import Scenario

_LONGEST_NAME: Final = 80


@dataclass(frozen=True)
class RunKey:
    """What tells one run from another: the scenario with its seed, the engine and its version, and the repetition."""

    scenario: Scenario
    """The whole scenario, seed included, as the extension module writes it."""
    label: str
    """How people call it: experiment, cell and seed."""
    engine: str
    """The engine's name."""
    version: str
    """Sojourn's version, which identifies the code that decides a run on this engine, and on Linux the kernel and the
    plan."""
    measured: frozenset[str] = frozenset()
    """What of the scenario was measured rather than asked for, where the run was imported: ``duration``, ``source``,
    ``start`` of flows. It does not tell one repetition from another (:mod:`sojourn.core.cells`)."""
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """What its experiment says that may not be what was meant; it does not tell one run from another."""
    given: _core.Scenario | None = field(default=None, repr=False, compare=False)
    """The scenario as the extension module gave it, so that engines need not read it again; None of a stored run."""
    repetition: int = 1
    """Which run of this scenario and seed it is, on an engine where two of them differ; the first is 1."""

    @cached_property
    def resolved(self) -> _core.Scenario:
        """The scenario as engines take it.

        Raises:
            ValueError: it was written by another Sojourn, which calls things otherwise.
        """
        return _core.Scenario(json.dumps(self.scenario)) if self.given is None else self.given

    @cached_property
    def digest(self) -> str:
        """A stable hash of scenario, seed, engine, version and repetition: 12 hexadecimal digits."""
        scenario = dict(self.scenario)
        if plugins := scenario.get("plugins"):
            # Another build is another run; the same build in another place is not.
            scenario["plugins"] = [plugin["digest"] for plugin in plugins]
        key: dict[str, Any] = {"scenario": scenario, "engine": self.engine, "version": self.version}
        if self.repetition > 1:
            key["repetition"] = self.repetition
        text = json.dumps(key, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @cached_property
    def asked(self) -> Mapping[str, Any]:
        """What was asked for: the scenario but for its seed, and for what was only measured."""
        asked = {name: value for name, value in self.scenario.items() if name != "seed" and name not in self.measured}
        if "start" in self.measured:
            asked["flows"] = [{name: v for name, v in flow.items() if name != "start"} for flow in asked["flows"]]
        return asked

    @property
    def cell_digest(self) -> str:
        """A stable hash of all but seed and repetition: runs of which it is the same are of one cell."""
        key = {"asked": self.asked, "engine": self.engine, "version": self.version}
        text = json.dumps(key, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def folder_name(self) -> str:
        """The run's folder: its label made safe for a file system, and the hash."""
        readable = re.sub(r"[^A-Za-z0-9._=+-]+", "_", self.label).strip("_.")[:_LONGEST_NAME]
        return f"{readable}-{self.digest}"
