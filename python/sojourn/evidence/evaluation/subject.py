"""What is evaluated: a control, a queue discipline or a call's control; the engine's, a plugin's or one in Python."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn.core import listings
from sojourn.evidence.evaluation.document import Kind
from sojourn.experiments.experiment import parse

TESTED: Final = ("tested", "tested-short", "second")
"""The names of flows in the suites that get the subject as their sender."""

TESTED_HOPS: Final = ("bottleneck", "second")
"""The names of hops in the suites that get the subject as their queue."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A sender by the word that ``sojourn ccs`` has for it, a discipline in tc's words, or a call's control.

    Senders are ``prague``, ``noq/bbr3``, ``python:mine.py:Mine``; disciplines ``codel target 10ms``,
    ``python:mine.py:Mine``; for calls the words after ``media control``, such as ``scream ecn classic``.
    """

    word: str
    of: Kind = "cc"

    def check(self, *, engine: str, plugins: Sequence[str] = ()) -> None:
        """Look whether there is such a thing.

        Raises:
            ExperimentError: if there is none, with the nearest.
        """
        hop = '[[hop]]\nname = "bottleneck"\nqdisc = "pfifo"\nrate = "20mbit"\nrtt = "100ms"'
        flow = '[[flow]]\nname = "tested"'
        if self.of == "media":
            flow += '\napp = "media control ${media}"\n[let]\nmedia = "scream"'
        text = f'[experiment]\nname = "evaluate"\nduration = "1s"\n{hop}\n{flow}\n'
        parse(text, "evaluate", settings=self.settings(text), engine=engine, plugins=plugins)

    @property
    def is_implementation(self) -> bool:
        """Whether it is an implementation's."""
        return self.of == "cc" and "/" in self.word and not self.word.startswith("python:")

    @property
    def _from_anywhere(self) -> str:
        """The word, with a whole path of a Python file: a relative one would be looked for in the suite's folder."""
        if not self.word.startswith("python:"):
            return self.word
        file, colon, rest = self.word.removeprefix("python:").rpartition(":")
        return f"python:{Path(file).absolute()}{colon}{rest}" if colon else self.word

    @property
    def where(self) -> str:
        """What of a suite is its own, for people."""
        return {"cc": "`flow.tested`", "qdisc": "`hop.bottleneck.qdisc`", "media": "`let.media`"}[self.of]

    def settings(self, text: str) -> list[str]:
        r"""Return what makes the flows, the queues or the calls of a suite's text its own, as ``--set`` takes it.

        >>> Subject("bbr3").settings('[[flow]]\nname = "tested"')
        ['flow.tested.cc=bbr3']
        >>> Subject("codel", "qdisc").settings('[[hop]]\nname  = "bottleneck"')
        ['hop.bottleneck.qdisc=codel']
        >>> Subject("scream ecn off", "media").settings('[let]\nmedia = "scream"')
        ['let.media=scream ecn off']
        """
        tree = tomllib.loads(text)
        word = self._from_anywhere
        if self.of == "media":
            return [f"let.media={word}"] if "media" in tree.get("let", {}) else []
        if self.of == "qdisc":
            hops = {hop["name"] for hop in tree.get("hop", ())}
            return [f"hop.{hop}.qdisc={word}" for hop in TESTED_HOPS if hop in hops]
        named = {flow["name"] for flow in tree.get("flow", ())}
        flows = [flow for flow in TESTED if flow in named]
        if not self.is_implementation:
            return [f"flow.{flow}.cc={word}" for flow in flows]
        stack, _, cc = self.word.partition("/")
        own = listings.key_of(stack)
        return [f"flow.{flow}.{own}.{key}={value}" for flow in flows for key, value in (("stack", stack), ("cc", cc))]
