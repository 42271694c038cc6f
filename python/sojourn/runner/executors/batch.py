"""What is sent to a worker, and what it sends back.

A request is data: resolved scenarios, which have every default written out and every word checked, as JSON, deflated.
An answer is made of Python's own types: the files of each run as they are stored (Parquet, JSON), as bytes. The worker
encodes them, which is a good part of the work; who asked writes them. So a results folder has one writer, one lock, and
nothing that a dying worker has half written, and machines need not share a folder.

Invariant: a worker makes a run only if its build and its kernel give the run the identity that was asked for;
otherwise it says which build it has and makes nothing.
"""

import json
import os
import resource
import socket
import zlib
from collections.abc import Sequence
from typing import Final, TypedDict

from sojourn import _core
from sojourn.core.scenario import Scenario
from sojourn.core.store import RunKey
from sojourn.errors import SojournError
from sojourn.runner.made import files_of

_LEVEL: Final = 1
"""Of deflate: scenarios of a batch differ in little, and the quickest level finds that."""


class Failure(TypedDict):
    """A run that failed, as its engine said it."""

    message: str
    help: str | None


class Answer(TypedDict):
    """What a worker sends back."""

    worker: str
    """Its host and process."""
    refused: str | None
    """What it has instead of the build that was asked for; it made nothing then."""
    cpu_s: float
    """What the batch cost, CPU seconds of the process and of guests that it started."""
    made: list[dict[str, bytes] | Failure]
    """A run each: its files by name, or why there are none."""


def request(keys: Sequence[RunKey], *, engine: str, build: str, command: str) -> bytes:
    """Return what is sent to have these runs made.

    Args:
        keys: the runs.
        engine: what makes them.
        build: the build of the engine that they are to be made by.
        command: what asked for them.
    """
    runs = [
        {
            "scenario": key.scenario,
            "label": key.label,
            "engine": key.engine,
            "version": key.version,
            "warnings": list(key.warnings),
            "repetition": key.repetition,
        }
        for key in keys
    ]
    asked = {"engine": engine, "build": build, "command": command, "runs": runs}
    return zlib.compress(json.dumps(asked, ensure_ascii=False).encode(), _LEVEL)


def make(sent: bytes) -> Answer:
    """Make the runs of a request; this is what workers call."""
    asked = json.loads(zlib.decompress(sent))
    engine = str(asked["engine"])
    answer: Answer = {"worker": f"{socket.gethostname()}:{os.getpid()}", "refused": None, "cpu_s": 0.0, "made": []}
    build = _core.version(engine)
    if build != asked["build"]:
        answer["refused"] = build
        return answer
    before = _cpu_s()
    for one in asked["runs"]:
        scenario = Scenario(one["scenario"])
        key = RunKey(
            scenario,
            one["label"],
            one["engine"],
            one["version"],
            warnings=tuple(one["warnings"]),
            repetition=int(one["repetition"]),
        )
        try:
            identity = _core.identity(key.resolved, engine=engine)
            if identity != key.version:
                # The kernel of a guest is a part of what a run is.
                answer["refused"] = identity
                return answer
            answer["made"].append(_made(key, engine=engine, command=str(asked["command"])))
        except SojournError as error:
            answer["made"].append({"message": error.message, "help": error.help})
        except ValueError as error:
            answer["made"].append({"message": f"{key.label}: the worker cannot read it: {error}", "help": None})
    answer["cpu_s"] = _cpu_s() - before
    return answer


def _made(key: RunKey, *, engine: str, command: str) -> dict[str, bytes]:
    found: list[_core.Run] = []
    failed: list[SojournError] = []

    def done(_: int, results: _core.Run | SojournError) -> None:
        if isinstance(results, SojournError):
            failed.append(results)
        else:
            found.append(results)

    _core.run_many([key.resolved], engine=engine, threads=1, on_done=done)
    if failed:
        raise failed[0]
    return files_of(key, found[0], command=command)


def _cpu_s() -> float:
    """Return the CPU time of this process and of those that it has waited for, s."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(own.ru_utime + own.ru_stime for own in used)
