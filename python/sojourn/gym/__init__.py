"""A Gymnasium environment: an agent is the congestion control of one flow of any experiment (extra ``gym``).

>>> import gymnasium  # doctest: +SKIP
>>> env = gymnasium.make("sojourn.gym:Sojourn-v0", on="train", interval="20ms")  # doctest: +SKIP

It is a thin shell over the simulator's ``advance_to``: a step sets the window, lets the run go on for an interval,
and returns what the acknowledgements of this interval said. Between two steps no time passes in the run, however long
the agent thinks. The same seed gives the same episode, bit by bit, on every machine.
"""

from sojourn.errors import UsageError

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise UsageError("gymnasium is not installed", help="pip install 'sojourn[gym]'") from error

from sojourn.gym.environment import OBSERVED, Environment, Step

__all__ = ["OBSERVED", "Environment", "Step"]

if "Sojourn-v0" not in gymnasium.registry:
    gymnasium.register(id="Sojourn-v0", entry_point="sojourn.gym.environment:Environment")
