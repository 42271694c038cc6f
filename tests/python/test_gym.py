"""The Gymnasium environment: its checker, bits, the meaning of its numbers, and mistakes."""

import sys
import threading

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from sojourn.errors import UsageError
from sojourn.gym import OBSERVED, Environment

NAMES = [name for name, _, _ in OBSERVED]


def episode(env: Environment, seed: int | None, *, cell: int | None = None, action: float | None = None) -> list[bytes]:
    draw = np.random.default_rng(7)
    observation, _ = env.reset(seed=seed, options=None if cell is None else {"cell": cell})
    received = [observation.tobytes()]
    truncated = False
    while not truncated:
        power = draw.uniform(-0.3, 0.3) if action is None else action
        observation, reward, terminated, truncated, _ = env.step(np.array([power], dtype=np.float32))
        assert not terminated
        assert 0 <= reward <= 1
        assert env.observation_space.contains(observation)
        received += [observation.tobytes(), np.float64(reward).tobytes()]
    return received


def test_its_own_checker_passes() -> None:
    env = gymnasium.make("sojourn.gym:Sojourn-v0", interval="40ms")
    check_env(env.unwrapped, skip_render_check=False)


def test_a_seed_repeats_an_episode_bit_by_bit() -> None:
    env = Environment(interval="50ms")
    assert episode(env, 1) == episode(env, 1) == episode(Environment(interval="50ms"), 1)
    assert episode(env, 1) != episode(env, 2)
    assert episode(env, 1) != episode(env, None), "the next episode is another one"


def test_an_episode_is_as_long_as_the_run() -> None:
    env = Environment(interval="100ms")
    # The first interval belongs to reset.
    assert len(episode(env, 1, cell=0)) == 1 + 2 * 149


def test_the_window_is_what_the_agent_ordered() -> None:
    env = Environment(interval="200ms", initial=20)
    observation, _ = env.reset(seed=1, options={"cell": 0})
    assert observation[NAMES.index("window")] == pytest.approx(np.log2(20))
    rates = []
    for _ in range(20):
        observation, *_ = env.step(np.zeros(1, dtype=np.float32))
        rates.append(float(observation[NAMES.index("rate")]))
    # 20 segments of 1448 bytes a round trip of 40 ms, and what the link needs for them: 5.6 of 20 Mbit/s.
    rtt = float(observation[NAMES.index("srtt")] * observation[NAMES.index("min_rtt")])
    assert 0.040 < rtt < 0.043
    assert np.mean(rates) == pytest.approx(20 * 1448 * 8 / rtt / 20e6, rel=0.02)
    assert observation[NAMES.index("rtt")] == pytest.approx(1.0, abs=0.05)
    assert env.render() is None
    for _ in range(3):
        observation, *_ = env.step(np.ones(1, dtype=np.float32))
    assert observation[NAMES.index("window")] == pytest.approx(np.log2(160))
    observation, reward, *_ = env.step(np.zeros(1, dtype=np.float32))
    # 160 segments are more than path and queue hold: the link is full, the queue, too, and packets are lost.
    assert observation[NAMES.index("rate")] > 0.9
    assert observation[NAMES.index("rtt")] > 1.5
    assert reward < 0.7


def test_losses_and_marks_are_seen() -> None:
    env = Environment(interval="100ms", initial=400)
    env.reset(seed=1, options={"cell": 0})
    lost = sum(float(env.step(np.zeros(1, dtype=np.float32))[0][NAMES.index("lost")]) for _ in range(10))
    assert lost > 0
    marking = Environment(interval="100ms", initial=100, ecn=True)
    cell = next(i for i, label in enumerate(marking.labels) if "[dualpi2]" in label)
    marking.reset(seed=1, options={"cell": cell})
    marked = [float(marking.step(np.zeros(1, dtype=np.float32))[0][NAMES.index("marked")]) for _ in range(20)]
    assert sum(marked) > 0


def test_a_line_about_the_last_step() -> None:
    env = Environment(render_mode="ansi", interval="100ms")
    env.reset(seed=1, options={"cell": 0})
    assert "0.10 s: window 10" in str(env.render())


def test_mistakes_say_what_would_be_right() -> None:
    with pytest.raises(UsageError, match="there is no set"):
        Environment(on="nothing")
    with pytest.raises(UsageError, match="above 0"):
        Environment(interval="0s")
    with pytest.raises(UsageError, match="there is no cell 20"):
        Environment().reset(seed=1, options={"cell": 20})
    with pytest.raises(UsageError, match="call reset"):
        Environment().step(np.zeros(1, dtype=np.float32))


def test_another_thread_may_drop_a_run() -> None:
    held = [Environment()]
    held[0].reset(seed=1)
    said: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, said.append
    try:
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()
    finally:
        sys.unraisablehook = hook
    assert said == []
