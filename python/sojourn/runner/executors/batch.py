"""Requests to a worker, and its answers.

A request is data: resolved scenarios, which have every default written out and every word checked, as JSON, deflated.
An answer is made of Python's own types: each run as it is stored, as bytes. The worker answers the usual questions and
encodes the tables; whoever asked writes them. So a results folder has one writer, one lock, and
nothing that a dying worker has half written, and machines need not share a folder.

Invariant: a worker makes a run only if its build and its kernel give the run the identity that was asked for;
otherwise it says which build it has and makes nothing.
"""

import json
import os
import resource
import socket
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

from sojourn import _core
from sojourn.core.store import RunKey
from sojourn.errors import SojournError

_LEVEL: Final = 1
"""Of deflate: scenarios of a batch differ in little, and the quickest level finds that."""


class Failure(TypedDict):
    """A run that failed, as its engine said it."""

    message: str
    help: str | None


class Answer(TypedDict):
    """The answer of a worker."""

    worker: str
    """Its host and process."""
    refused: str | None
    """Its own build, if that is not the requested one; it made nothing then."""
    cpu_s: float
    """The cost of the batch, CPU seconds of the process and of guests that it started."""
    made: list[bytes | Failure]
    """A run each, as it is stored, or why there is none."""


def request(keys: Sequence[RunKey], *, engine: str, build: str, command: str) -> bytes:
    """Return the request for these runs.

    Args:
        keys: the runs.
        engine: what makes them.
        build: the build of the engine that they are to be made by.
        command: what asked for them.
    """
    runs = [
        {
            "scenario": key.resolved.json,
            "engine": key.engine,
            "version": key.version,
            "warnings": list(key.warnings),
            "keep": key.keep,
            "repetition": key.repetition,
        }
        for key in keys
    ]
    asked = {"engine": engine, "build": build, "command": command, "runs": runs}
    return zlib.compress(json.dumps(asked, ensure_ascii=False).encode(), _LEVEL)


def make(sent: bytes) -> Answer:
    """Make the runs of a request; workers call this."""
    asked = json.loads(zlib.decompress(sent))
    engine = str(asked["engine"])
    answer: Answer = {"worker": f"{socket.gethostname()}:{os.getpid()}", "refused": None, "cpu_s": 0.0, "made": []}
    build = _core.version(engine)
    if build != asked["build"]:
        answer["refused"] = build
        return answer
    before = _cpu_s()
    for one in asked["runs"]:
        resolved = _core.Scenario(one["scenario"])
        warnings = tuple(one["warnings"])
        more = {"warnings": warnings, "keep": one["keep"], "repetition": one["repetition"]}
        key = RunKey(resolved, one["engine"], one["version"], **more)
        try:
            [identity] = _core.identities([key.resolved], engine=engine)
            if identity != key.version:
                # The kernel of a guest is a part of what a run is.
                answer["refused"] = identity
                return answer
            answer["made"].append(_made(key, asked))
        except SojournError as error:
            answer["made"].append({"message": error.message, "help": error.help})
        except ValueError as error:
            answer["made"].append({"message": f"{key.label}: the worker cannot read it: {error}", "help": None})
    answer["cpu_s"] = _cpu_s() - before
    return answer


def _made(key: RunKey, asked: Mapping[str, Any]) -> bytes:
    found: list[_core.Run] = []
    failed: list[SojournError] = []

    def done(_: int, results: _core.Run | SojournError | None) -> None:
        if isinstance(results, SojournError):
            failed.append(results)
        elif results is not None:
            found.append(results)

    _core.run_many([key.resolved], engine=asked["engine"], threads=1, on_done=done)
    if failed:
        raise failed[0]
    return _core.encode_run(
        found[0],
        key.version,
        command=asked["command"],
        warnings=list(key.warnings),
        keep=key.keep,
        repetition=key.repetition,
    )


def _cpu_s() -> float:
    """Return the CPU time of this process and of those that it has waited for, s."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(own.ru_utime + own.ru_stime for own in used)
