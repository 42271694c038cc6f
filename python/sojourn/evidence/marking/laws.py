"""Reference laws: how often a queue is to signal, given the lengths or delays that it really had.

Written from the texts: Floyd and Jacobson 1993 (RED), RFC 8289 (CoDel), RFC 8033 (PIE), RFC 9332 (DualPI2), with
Linux's constants where the texts leave them open. They are in floating point and know nothing of our queues.
"""

import math
from typing import Final

import numpy as np

from sojourn.evidence.marking.observed import Floats, Observed
from sojourn.evidence.marking.stimuli import FRAME
from sojourn.evidence.marking.words import Parameters

MAX_BURST_S: Final = 0.150
"""PIE's burst allowance (RFC 8033 §4.1)."""
MARK_LIMIT: Final = 0.1
"""PIE marks up to this probability, and drops ECN-capable packets above (RFC 8033 §5.1)."""

TICK_S: Final = 0.004
"""A tick of the kernel's timers, at 250 a second."""

_TUNING: Final = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (0.1, 2))
"""PIE: below this probability gains are divided by this (RFC 8033 §5.2)."""


def red_average(own: Parameters, seen: Observed) -> Floats:
    """Return RED's average length at the end of each step, bytes: moved by 2^-ewma at each arrival.

    An arrival sees the queue without itself: half a frame less than a look at any time does.
    """
    keep = 1 - 2.0 ** -own["ewma"]
    average = np.zeros_like(seen.bytes)
    last = 0.0
    arrivals = np.maximum(seen.entered, 0.0)
    for index, (held, came) in enumerate(zip(seen.bytes, arrivals, strict=True)):
        seen_by_it = max(0.0, held - FRAME / 2)
        last = seen_by_it + (last - seen_by_it) * keep**came
        average[index] = last
    return average


def red_rate(own: Parameters, average: Floats) -> Floats:
    """Return the share of packets that RED signals at an average.

    Between two signals there are 1 to 1/p packets, each number as likely (Floyd and Jacobson §7): 2p/(1 + p) of all.
    """
    low, high = own["min"], own["max"]
    p = np.clip((average - low) / (high - low), 0, 1) * own["probability"]
    return np.where(average >= high, 1.0, 2 * p / (1 + p))


def codel_gap(own: Parameters, count: float) -> float:
    """Return the time from CoDel's signal number ``count`` to the next: interval/√count (RFC 8289 §5.3)."""
    return own["interval"] / math.sqrt(max(1.0, count))


def pie_probability(own: Parameters, seen: Observed) -> Floats:
    """Return PIE's probability in each step (RFC 8033 §4.2, §5).

    Linux's timer wheel fires a tick of 4 ms later than it is asked to, so an update comes each ``tupdate`` and 4 ms.
    The first one comes half a second after the queue is set up, which the wheel rounds up to 128 ticks.
    """
    alpha, beta = own["alpha"] / 16, own["beta"] / 16
    p = 0.0
    old = 0.0
    every = own["tupdate"] + TICK_S
    due = 128 * TICK_S
    found = np.zeros_like(seen.t)
    for index, (now, held) in enumerate(zip(seen.t, seen.bytes, strict=True)):
        if now >= due:
            due += every
            delay = float(seen.delay[index]) if held > 0 else 0.0
            scale = next((scale for limit, scale in _TUNING if p < limit), 1)
            delta = (alpha * (delay - own["target"]) + beta * (delay - old)) / scale
            if p >= MARK_LIMIT:
                delta = min(delta, 0.02)
            if delay > 0.250:  # noqa: PLR2004 - RFC 8033 §5.3
                delta += 0.02
            p = min(1.0, max(0.0, p + delta))
            if delay == 0 and old == 0:
                p *= 1 - 1 / 64
            old = delay
        found[index] = p
    return found


def pie_rate(own: Parameters, seen: Observed, p: Floats) -> Floats:
    """Return the share of packets that PIE signals.

    Nothing in the first 150 ms, with a delay below half the target and a probability below 0.2, or with less than two
    packets held (RFC 8033 §4.1). Derandomisation (§5.4): no signal until the probabilities have added up to 0.85,
    then each packet with p.
    """
    with np.errstate(divide="ignore"):
        between = np.ceil(0.85 / np.maximum(p, 1e-9)) - 1 + 1 / np.maximum(p, 1e-9)
    quiet = (seen.delay < own["target"] / 2) & (p < 0.2)  # noqa: PLR2004
    quiet |= seen.bytes < 2 * 1514
    begin = seen.first(seen.entered)
    quiet |= seen.t < begin + MAX_BURST_S
    return np.where(quiet | (p <= 0), 0.0, 1 / between)


def pi2_probability(own: Parameters, seen: Observed, limit: float = 1.0) -> Floats:
    """Return the base probability p' of PI2's controller in each step (RFC 9332 §2.4, appendix A).

    It looks at the older of the two heads: at the longest wait of those that left in the last six steps.
    """
    p = 0.0
    old = 0.0
    due = own["tupdate"]
    found = np.zeros_like(seen.t)
    for index, (now, held) in enumerate(zip(seen.t, seen.bytes, strict=True)):
        if now >= due:
            due += own["tupdate"]
            delay = float(seen.delay[max(0, index - 5) : index + 1].max()) if held > 0 else 0.0
            p += own["alpha"] * (delay - own["target"]) + own["beta"] * (delay - old)
            p = min(limit, max(0.0, p))
            old = delay
        found[index] = p
    return found
