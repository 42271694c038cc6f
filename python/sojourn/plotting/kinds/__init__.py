"""The kinds of figures: each is one file here and one line below."""

from collections.abc import Mapping
from typing import Final

OWN: Final[Mapping[str, str]] = {
    "delivery": "delivery:KIND",
    "timeseries": "timeseries:KIND",
    "lines": "lines:KIND",
    "bars": "bars:KIND",
    "heatmap": "heatmap:KIND",
    "scatter": "scatter:KIND",
    "box": "box:KIND",
    "cdf": "cdf:KIND",
    "fairness": "fairness:KIND",
    "shares": "shares:KIND",
    "delays": "delays:KIND",
    "probabilities": "probabilities:KIND",
    "queue-delay": "queue_delay:KIND",
    "marking": "marking:KIND",
    "goodput": "goodput:KIND",
    "harm": "harm:KIND",
    "spikes": "spikes:KIND",
    "overlay": "overlay:KIND",
    "chiu-jain": "chiu_jain:KIND",
}
"""Where each is, in the order of lists; read by :data:`sojourn.core.extensions.FIGURES` as entry points are."""
