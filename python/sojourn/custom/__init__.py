"""Congestion controls and queue disciplines of one's own, in Python, for the simulator.

A class in a file of yours is named ``python:FILE:CLASS``: in an experiment (``cc = "python:mine.py:Mine"``, seen from
the experiment's file) or in a command (``sojourn try python:mine.py:Mine``, seen from the present folder)::

    from sojourn.custom import CongestionControl, View


    class Mine(CongestionControl):
        def on_ack(self, view: View) -> int:
            return view.cwnd + 1

        def on_loss(self, view: View) -> int:
            return view.cwnd // 2

The tutorial docs/tutorials/own-control.md builds one. The file is a program of yours, which runs with your rights.
"""

from sojourn._core import Packet, QueueView, View
from sojourn.custom.aqm import Aqm
from sojourn.custom.control import Answer, CongestionControl

__all__ = ["Answer", "Aqm", "CongestionControl", "Packet", "QueueView", "View"]
