"""What is put to the test: a sender by its congestion control or implementation, or a queue by its words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sojourn.core import listings

FLOW: Final = "subject"
"""The name of the flow under test in every case of a sender."""
HOP: Final = "bottleneck"
"""The name of the hop that has the queue under test, or the queue in the subject's way."""

Kind = Literal["sender", "queue"]


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that is put to the test."""

    name: str
    """As it was asked for: ``bbr3``, ``noq/bbr3``, ``dualpi2 target 5ms``."""
    kind: Kind

    @property
    def control(self) -> str:
        """The congestion control of TCP; empty for anything else."""
        return self.name if self.kind == "sender" and not self.is_implementation else ""

    @property
    def is_implementation(self) -> bool:
        """Whether it is an implementation with one of its controls."""
        return self.kind == "sender" and "/" in self.name and not self.name.startswith("python:")

    def settings(self, flows: Sequence[str] = (FLOW,)) -> Sequence[str]:
        """Return what is set in a case to put it to the test; of a sender, in these flows."""
        if self.kind == "queue":
            return [f"hop.{HOP}.qdisc={self.name}"]
        if self.is_implementation:
            stack, _, control = self.name.partition("/")
            key = listings.key_of(stack)
            return [
                text
                for flow in flows
                for text in (f"flow.{flow}.{key}.stack={stack}", f"flow.{flow}.{key}.cc={control}")
            ]
        return [f"flow.{flow}.cc={self.name}" for flow in flows]
