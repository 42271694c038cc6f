"""What identifies a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sojourn import _core
from sojourn.core.scenario import Scenario


@dataclass(frozen=True, slots=True)
class RunKey:
    """What tells one run from another: the scenario with its seed, the engine and its version, and the repetition.

    The keys of a cell share its scenario, so that a campaign of 100,000 runs takes some 50 MB of them.
    """

    resolved: _core.Scenario
    """The scenario as engines take it, seed included."""
    engine: str
    """The engine's name."""
    version: str
    """Sojourn's version, which identifies the code that decides a run on this engine, and on Linux the kernel and the
    plan."""
    measured: tuple[str, ...] = ()
    """The parts of an imported run's scenario that are measurements: ``duration``, ``source``, ``start`` of flows. They
    do not tell one repetition from another (:mod:`sojourn.core.cells`)."""
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """The experiment's warnings. They do not tell one run from another."""
    keep: str = field(default="all", compare=False)
    """How much of the run a results folder keeps: ``summary``, ``series``, ``all``."""
    repetition: int = 1
    """Which run of this scenario and seed it is, on an engine where two of them differ; the first is 1."""
    _digest: str = field(default="", init=False, repr=False, compare=False)
    """That of the run, once it was asked for."""

    @property
    def scenario(self) -> Scenario:
        """The scenario as a mapping. Other seeds of the cell share what is in it."""
        return Scenario(self.resolved.mapping)

    @property
    def seed(self) -> int:
        """The seed of the random streams."""
        return self.resolved.seed

    @property
    def label(self) -> str:
        """Experiment, cell and seed in words: ``s1[fq_codel,20ms]#3``."""
        return self.resolved.label

    def _digests(self) -> tuple[str, str]:
        return _core.run_digests(self.resolved, self.engine, self.version, list(self.measured), self.repetition)

    @property
    def digest(self) -> str:
        """A hash of scenario, seed, engine, version and repetition: 12 hexadecimal digits."""
        if not self._digest:
            object.__setattr__(self, "_digest", self._digests()[0])
        return self._digest

    @property
    def cell_digest(self) -> str:
        """A hash of all but seed and repetition: runs with the same are of one cell."""
        return self._digests()[1]

    @property
    def name(self) -> str:
        """The run's name in a results folder: its label made safe for a file system, and the digest."""
        return _core.run_name(self.label, self.digest)

    @property
    def asked(self) -> Mapping[str, Any]:
        """The scenario without its seed and without its measurements."""
        asked = {name: value for name, value in self.scenario.items() if name != "seed" and name not in self.measured}
        if "start" in self.measured:
            asked["flows"] = [{name: v for name, v in flow.items() if name != "start"} for flow in asked["flows"]]
        return asked

    def is_seed_of(self, other: "RunKey") -> bool:
        """Return whether both ask for the same but for the seed, whatever runs them."""
        if not self.measured and not other.measured and self.resolved.shares_cell(other.resolved):
            return True
        return self.asked == other.asked
