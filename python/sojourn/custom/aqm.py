"""The base class of queue disciplines in Python."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from sojourn._core import Packet, QueueView


class Aqm(ABC):
    """A queue discipline. Each port has an object of its own.

    It is made with the words behind the name as keyword arguments: ``qdisc = "python:mine.py:Mine limit 100 target 5ms
    ecn"`` makes ``Mine(limit=100, target=5_000_000, ecn=True)``. Whole numbers are ``int``, others ``float``,
    percentages fractions, times nanoseconds, rates bits per second. A parameter with a bool as its default is written
    as its name alone for True, with ``no`` before it for False.

    A packet that was enqueued leaves once: dropped (:meth:`Packet.drop`), or returned by :meth:`dequeue`.

    A call may read the queue, its packets and nothing that differs from run to run: no clock, no generator of its own,
    no file. Random numbers are those of :meth:`QueueView.random`.
    """

    reasons: ClassVar[tuple[str, ...]] = ()
    """Names of reasons for drops and marks that Sojourn does not have itself."""
    gauges: ClassVar[Mapping[str, str]] = {}
    """Attributes of the object, numbers, that are recorded at each step in the table ``queue_state``, each with its
    meaning."""

    @abstractmethod
    def enqueue(self, packet: Packet, queue: QueueView) -> None:
        """Take a packet: keep it, or drop it."""

    @abstractmethod
    def dequeue(self, queue: QueueView) -> Packet | int | None:
        """Return the packet that leaves now, or None if none is held.

        Or a time in nanoseconds, later than ``queue.now_ns``, before which none may leave.
        """

    def change(self, options: Mapping[str, object], queue: QueueView) -> None:
        """Take other options while it runs: those of an event's ``change``, read as the constructor's arguments are.

        Options that the event does not write are not in ``options`` and stay as they are. Arguments without a default
        are written again. Before the run starts, Sojourn refuses such events for a class without this method.
        """
        raise NotImplementedError
