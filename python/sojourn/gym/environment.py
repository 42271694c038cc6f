"""The environment: episodes are runs of an experiment's cells, steps are intervals of simulated time.

Action: one number in -1 to 1, by which power of two the window changes. Observation: :data:`OBSERVED`. Reward: 0 to 1
a step; see :meth:`Environment.reward`. An episode is truncated when the run's time is over; it never terminates
before.

Invariant: an episode depends on the seed of ``reset`` and on the actions alone. The cell and the run's own seed are
drawn from the environment's generator, so that ``reset(seed=1)`` is always the same path with the same noise, and
``reset()`` after it the next.
"""

from typing import Any, ClassVar, Final, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.score import sets

OBSERVED: Final = (
    ("rate", 4.0, "goodput of the interval over the link's rate"),
    ("rtt", 100.0, "mean RTT of the interval over the least RTT seen; 0 without a sample"),
    ("srtt", 100.0, "smoothed RTT over the least RTT seen"),
    ("min_rtt", 10.0, "least RTT seen, s"),
    ("lost", 1.0, "segments taken for lost, of those that were acknowledged or lost"),
    ("marked", 1.0, "segments marked CE, of those that were acknowledged"),
    ("inflight", 4.0, "segments in flight over the window"),
    ("window", 20.0, "binary logarithm of the window in segments"),
    ("timeouts", 10.0, "retransmission timeouts in the interval"),
)
"""The numbers of an observation: name, largest value (the least is 0), meaning."""

_LOWEST_WINDOW: Final = 2.0
_HIGHEST_WINDOW: Final = 100_000.0
_SEEDS: Final = 1 << 31


class Step(NamedTuple):
    """The observations of a step of the run."""

    time: float
    """Since the run's beginning, s."""
    acked: int
    lost: int
    marked: int
    """Segments of this step."""
    timeouts: int
    rtt: float
    srtt: float
    min_rtt: float
    """Mean RTT of this step's samples, smoothed RTT, least RTT; s, 0 where there is none yet."""
    in_flight: int
    window: int
    """Segments, after the last acknowledgement."""
    delivered: int
    """Payload bytes since the beginning."""
    over: bool
    """Whether the run's time is over."""


class Environment(gymnasium.Env[npt.NDArray[np.float32], npt.NDArray[np.float32]]):
    """A congestion control's view of a path.

    Args:
        on: a set of :mod:`sojourn.score`, or an experiment file with a flow ``tested``. Where several are tested, the
        first is
            the agent's, and the others run the file's control.
        interval: simulated time of a step: ``20ms``.
        initial: the window at the beginning, segments.
        ecn: whether the flow negotiates ECN (Accurate ECN, ECT(0)).
        render_mode: ``ansi`` returns a line about the last step from :meth:`render`.

    Raises:
        UsageError: if there is no such set, or the interval is no time.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 10}  # type: ignore[misc]  # as Gymnasium has it

    def __init__(
        self,
        on: str = "train",
        *,
        interval: str = "20ms",
        initial: int = 10,
        ecn: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.interval = _core.parse_span(interval)
        if self.interval <= 0:
            raise UsageError(f'an interval of "{interval}"', help="write a time above 0, such as 20ms")
        if render_mode not in (None, "ansi"):
            raise UsageError.unknown("render mode", str(render_mode), ["ansi"])
        self.render_mode = render_mode
        self.initial, self.ecn = float(initial), ecn
        keys = sets.read(on).run_keys
        self.cells = [(key.resolved, _tested(key.scenario), _rate(key.scenario)) for key in keys]
        self.labels = [key.label for key in keys]
        highest = np.array([high for _, high, _ in OBSERVED], dtype=np.float32)
        self._highest = highest
        self.observation_space = gymnasium.spaces.Box(np.zeros_like(highest), highest, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self._run: _core.Steps | None = None
        self._window = self.initial
        self._rate, self._delivered = 1.0, 0
        self._last: Step | None = None
        self._cell = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode; ``options={"cell": 3}`` takes that cell of the set instead of a drawn one."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(len(self.cells)))
        index = int((options or {}).get("cell", drawn))
        if not 0 <= index < len(self.cells):
            raise UsageError(f"there is no cell {index}", help=f"there are {len(self.cells)}, from 0 on")
        scenario, flow, self._rate = self.cells[index]
        self._cell = self.labels[index]
        own = scenario.with_seed(int(self.np_random.integers(_SEEDS)))
        self._run = _core.Steps(own, flow, ecn=self.ecn)
        self._window, self._delivered = self.initial, 0
        step = self._advance()
        return self._observe(step), self._about(step)

    def step(
        self, action: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Multiply the window by 2 to the power of the action, and let an interval pass."""
        power = min(1.0, max(-1.0, float(action[0])))
        self._window = min(_HIGHEST_WINDOW, max(_LOWEST_WINDOW, self._window * 2.0**power))
        step = self._advance()
        observation = self._observe(step)
        return observation, self.reward(step, float(observation[0])), False, step.over, self._about(step)

    def reward(self, step: Step, rate: float) -> float:
        """Return the reward of a step: use of the link × least RTT over mean RTT × the share that was not lost.

        Override it for another one.

        Args:
            step: the observation of the step.
            rate: goodput over the link's rate.
        """
        delay = step.min_rtt / step.rtt if step.rtt > 0 else 1.0
        sent = step.acked + step.lost
        return min(1.0, rate) * min(1.0, delay) * (step.acked / sent if sent else 0.0)

    def render(self) -> str | None:
        """Return a line about the last step."""
        if self.render_mode is None or self._last is None:
            return None
        own = self._last
        return f"{self._cell} {own.time:.2f} s: window {own.window}, RTT {own.rtt * 1e3:.1f} ms, lost {own.lost}"

    def close(self) -> None:
        """Let the run go."""
        self._run = None

    def _advance(self) -> Step:
        if self._run is None:
            raise UsageError("there is no episode", help="call reset() first")
        self._last = Step(*self._run.step(round(self.interval * 1e9), round(self._window)))
        return self._last

    def _observe(self, step: Step) -> npt.NDArray[np.float32]:
        goodput = (step.delivered - self._delivered) * 8 / self.interval
        self._delivered = step.delivered
        least = step.min_rtt or 1.0
        sent = step.acked + step.lost
        values = (
            goodput / self._rate,
            step.rtt / least,
            step.srtt / least,
            step.min_rtt,
            step.lost / sent if sent else 0.0,
            min(step.marked, step.acked) / step.acked if step.acked else 0.0,
            step.in_flight / step.window if step.window else 0.0,
            np.log2(self._window),
            step.timeouts,
        )
        return np.minimum(np.array(values, dtype=np.float32), self._highest)

    def _about(self, step: Step) -> dict[str, Any]:
        return {"cell": self._cell, "time": step.time, "delivered": step.delivered}


def _tested(scenario: Any) -> str:  # noqa: ANN401 - a resolved scenario
    return next(str(flow["name"]) for flow in scenario["flows"] if sets.group(flow) == sets.TESTED)


def _rate(scenario: Any) -> float:  # noqa: ANN401 - a resolved scenario
    """Return the lowest rate on the way down, bit/s."""
    rates = [
        _core.parse_rate(element["rate"])
        for hop in scenario["hops"]
        for element in hop["down"]
        if element.get("enabled", True) and element.get("rate")
    ]
    return min(rates, default=1e9)
