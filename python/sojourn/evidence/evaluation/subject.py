"""What is evaluated: a congestion control of the engine, a QUIC stack's, a plugin's or one in Python."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.experiments.experiment import parse

TESTED: Final = ("tested", "tested-short", "second")
"""The flows of the suites whose sender is the subject."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A sender by the word that ``sojourn ccs`` has for it: ``prague``, ``noq/bbr3``, ``python:mine.py:Mine``."""

    word: str

    def check(self, *, engine: str, plugins: Sequence[str] = ()) -> None:
        """Look whether there is such a sender.

        Raises:
            ExperimentError: if there is none, with the nearest.
        """
        flow = '[[hop]]\nname = "hop"\nqdisc = "pfifo"\nrate = "1mbit"\n[[flow]]\nname = "tested"'
        text = f'[experiment]\nname = "evaluate"\nduration = "1s"\n{flow}\n'
        parse(text, "evaluate", settings=self.settings(text), engine=engine, plugins=plugins)

    @property
    def is_quic(self) -> bool:
        """Whether it is a QUIC stack's."""
        return "/" in self.word and not self.word.startswith("python:")

    def settings(self, text: str) -> list[str]:
        r"""Return what makes the flows of a suite's text its own, as ``--set`` takes it.

        >>> Subject("bbr3").settings('[[flow]]\nname = "tested"')
        ['flow.tested.cc=bbr3']
        """
        flows = [flow for flow in TESTED if re.search(rf'^name\s*=\s*"{flow}"$', text, re.MULTILINE)]
        if not self.is_quic:
            return [f"flow.{flow}.cc={self.word}" for flow in flows]
        stack, _, cc = self.word.partition("/")
        return [f"flow.{flow}.quic.{key}={value}" for flow in flows for key, value in (("stack", stack), ("cc", cc))]
