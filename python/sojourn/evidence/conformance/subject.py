"""What is put to the test: a sender by its congestion control or QUIC stack, or a queue by its words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

FLOW: Final = "subject"
"""The name of the flow under test in every case of a sender."""
HOP: Final = "bottleneck"
"""The name of the hop whose queue is under test, or is in the subject's way."""

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
        return self.name if self.kind == "sender" and not self.is_quic else ""

    @property
    def is_quic(self) -> bool:
        """Whether it is a QUIC stack with one of its controls."""
        return self.kind == "sender" and "/" in self.name and not self.name.startswith("python:")

    @property
    def settings(self) -> Sequence[str]:
        """What is set in a case to put it to the test."""
        if self.kind == "queue":
            return [f"hop.{HOP}.qdisc={self.name}"]
        if self.is_quic:
            stack, _, control = self.name.partition("/")
            return [f"flow.{FLOW}.quic.stack={stack}", f"flow.{FLOW}.quic.cc={control}"]
        return [f"flow.{FLOW}.cc={self.name}"]

    def of(self, texts: Mapping[str, str]) -> str:
        """Return the text that a table has for it, by its name or the first word of it; empty if none."""
        return texts.get(self.name) or texts.get(self.name.split()[0], "")
