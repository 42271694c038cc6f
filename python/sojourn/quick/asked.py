"""The options of a quick run, written as an experiment file: they mean the same as the file."""

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sojourn.core import listings
from sojourn.errors import ExperimentError, UsageError
from sojourn.experiments import document

HOP: Final = "bottleneck"

FILE: Final = "the command line"
"""What errors call the text."""

LOADS: Final[Mapping[str, Sequence[Mapping[str, object]]]] = {
    "voice": (
        {"name": "voice-down", "voip": {}},
        {"name": "voice-up", "direction": "up", "voip": {}},
    ),
    "web": ({"name": "web", "short_flows": {"mean_interval": "1s", "length_p5": "64k", "length_p95": "2mb"}},),
    "video": (
        {"name": "video-down", "video": {"profile": "call-down"}},
        {"name": "video-up", "direction": "up", "video": {"profile": "call-up"}},
    ),
}
"""Additional traffic, by its option."""

UPLOADS: Final = "cubic"
"""The congestion control of uploads where no flow names one."""

RRUL: Final = 4
"""Downloads, and uploads, of the realtime response under load test."""

_IN_WORDS: Final = {
    "voice": "a voice call both ways",
    "web": "a web transfer a second",
    "video": "a video call both ways",
}

_OPTIONS: Final = {
    "rate": "--rate",
    "down": "--rate",
    "trace": "--trace",
    "ecn": "--ecn",
    "up": "--up",
    "rtt": "--rtt",
    "qdisc": "--qdisc",
    "duration": "--duration",
    "stack": "--stack",
    "seeds": "--seed",
    "quic": "",
    "tcp": "",
    "cc": "",
}
"""The option that a setting of the file comes from, by the setting's name; a flow's sender has none."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs of the machine, as a flow."""

    client: Sequence[str]
    server: Sequence[str] = ()
    ready: str | None = None
    files: Sequence[Path] = ()
    """Text files that they find in their folder, under their names."""

    def table(self) -> dict[str, object]:
        """Return the flow's table.

        Raises:
            UsageError: if a file cannot be read, or is no text.
        """
        table: dict[str, object] = {"client": list(self.client)}
        if self.server:
            table["server"] = list(self.server)
        if self.ready is not None:
            table["ready"] = self.ready
        if self.files:
            table["files"] = {path.name: _text(path) for path in self.files}
        return table

    @property
    def name(self) -> str:
        """The flow's name: the client's."""
        return _plain(Path(self.client[0]).name)

    @property
    def words(self) -> list[str]:
        """The options that ask for the server."""
        words = ["--server", shlex.join(self.server)] if self.server else []
        words += ["--ready", self.ready] if self.ready is not None else []
        for path in self.files:
            words += ["--file", str(path)]
        return words


def _sender(word: str) -> dict[str, object]:
    """Return the sender that a flow's word names: TCP with a control, or an implementation as ``sojourn ccs`` lists it.

    >>> _sender("cubic"), _sender("noq/bbr3")
    ({'cc': 'cubic'}, {'quic': {'stack': 'noq', 'cc': 'bbr3'}})
    """
    stack, slash, cc = word.partition("/")
    if not slash or word.startswith("python:"):
        return {"cc": word}
    return {listings.key_of(stack): {"stack": stack, "cc": cc}}


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UsageError(
                f"{path} is larger than {_LARGEST_FILE // 1_000_000} MB",
                help="keep it in place and add its folder to the experiment's reads",
            )
        return path.read_text()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is not a text file", help="keep it in place and add its folder to the experiment's reads"
        ) from error


_LARGEST_FILE: Final = 1_000_000
"""Maximum bytes of a file, because the experiment contains its text."""


def _plain(name: str) -> str:
    return "".join(c if (c.isascii() and c.isalnum()) or c in "-_" else "-" for c in name.lower()) or "flow"


@dataclass(frozen=True, slots=True)
class Asked:
    """A quick run; everything is text as the user wrote it, and is judged as the file would be."""

    flows: Sequence[str]
    """A congestion control for each flow; ``noq/bbr3``: a connection of this implementation's."""
    rate: str
    rtt: str
    qdiscs: Sequence[str]
    """One, or several to compare."""
    duration: str
    stack: str
    seeds: Sequence[int]
    up: str | None = None
    """The rate of the way up; the same as down if None."""
    uploads: int = 0
    """Additional uploads, each with the first flow's congestion control."""
    ecn: str | None = None
    """The flows' ECN, in the file's words; the stack's default if None."""
    trace: str | None = None
    """When the link can send, instead of :attr:`rate`: a file, or ``cellular max 40mbit seed 3``."""
    loads: Sequence[str] = field(default=())
    """Of :data:`LOADS`."""
    programs: Programs | None = None
    engine: str = "sim"

    def toml(self) -> str:
        """Return the experiment file."""
        hop: dict[str, object] = {"name": HOP, "rtt": self.rtt}
        down = {"rate": self.rate} if self.trace is None else {"trace": self.trace}
        hop |= down if self.up is None else {"down": down, "up": {"rate": self.up}}
        axis = None
        if len(self.qdiscs) == 1:
            hop["qdisc"] = self.qdiscs[0]
        else:
            axis = {"qdisc": {words: {f"hop.{HOP}.qdisc": words} for words in self.qdiscs}}
        flows: list[dict[str, object]] = [
            {"name": name, **self._sender(cc)} for name, cc in zip(self.names, self.flows, strict=True)
        ]
        flows += [
            {"name": name, "direction": "up", **self._sender(self.flows[0] if self.flows else UPLOADS)}
            for name in self.upload_names
        ]
        if self.programs is not None:
            flows.insert(0, {"name": self.programs.name, "program": self.programs.table()})
        return document.toml(
            name="try",
            stack=self.stack,
            duration=self.duration,
            seeds=list(self.seeds),
            axis=axis,
            hop=[hop],
            flow=[*flows, *(flow for load in self.loads for flow in LOADS[load])],
            window=self._windows(),
        )

    def _sender(self, word: str) -> dict[str, object]:
        """Return the sender that a flow's word names, with its ECN."""
        found = _sender(word)
        if self.ecn is None:
            return found
        for key, own in found.items():
            if isinstance(own, dict):
                return {key: {**own, "ecn": self.ecn}}
        return {**found, "ecn": self.ecn}

    @property
    def upload_names(self) -> list[str]:
        """The names of the uploads."""
        return ["upload"] if self.uploads == 1 else [f"upload-{n + 1}" for n in range(self.uploads)]

    @property
    def names(self) -> list[str]:
        """The names of the flows: the congestion controls', numbered where one occurs twice.

        A class in a Python file (``python:mine.py:Mine``) is named by itself.
        """
        plain = [_plain(cc.rpartition(":")[2] if cc.startswith("python:") else cc) for cc in self.flows]
        return [
            f"{name}-{plain[: index + 1].count(name)}" if plain.count(name) > 1 else name
            for index, name in enumerate(plain)
        ]

    def _windows(self) -> list[dict[str, str]]:
        """Return the time before the flows, with nothing but the ping on the way; of programs the whole run, too.

        Other numbers look at the default window, as those of every run do.
        """
        idle = {"name": "idle", "from": "-4s", "to": "0s"}
        return [idle] if self.programs is None else [idle, {"name": "steady", "from": "0s", "to": self.duration}]

    @property
    def command(self) -> str:
        """The command that asks for it, every setting in it."""
        words = ["sojourn", "try", *self.flows]
        words += ["--rate", self.rate] if self.trace is None else ["--trace", self.trace]
        words += ["--up", self.up] if self.up is not None else []
        words += ["--upload", str(self.uploads)] if self.uploads else []
        words += ["--ecn", self.ecn] if self.ecn is not None else []
        words += ["--rtt", self.rtt]
        for qdisc in self.qdiscs:
            words += ["--qdisc", qdisc]
        words += [f"--{load}" for load in self.loads]
        words += ["--duration", self.duration, "--stack", self.stack, "--seed", str(self.seeds[0])]
        words += ["--seeds", str(len(self.seeds))] if len(self.seeds) > 1 else []
        words += ["--engine", self.engine] if self.engine != "sim" else []
        if self.programs is not None:
            words += [*self.programs.words, "--", *self.programs.client]
        return shlex.join(words)

    def in_words(self) -> str:
        """Return the run in a sentence."""
        loads = "".join(f", {_IN_WORDS[load]}" for load in self.loads)
        up = f", the other way {self.up}" if self.up is not None else ""
        several = f", each with seeds {self.seeds[0]} to {self.seeds[-1]}" if len(self.seeds) > 1 else ""
        queues = " or ".join(self.qdiscs)
        uploads = ["an upload" if self.uploads == 1 else f"{self.uploads} uploads"] if self.uploads else []
        sends = [*([self.programs.name] if self.programs is not None else []), *self.flows, *uploads]
        link = self.trace or self.rate
        return (
            f"{', '.join(sends)}{loads} and a ping through {queues} at {link}{up}; base RTT {self.rtt}; "
            f"{self.duration}{several}."
        )

    def pointed_at(self, error: ExperimentError) -> ExperimentError:
        """Return an error of the file as one of the command line: the option, with the mark where it was."""
        also = tuple(self.pointed_at(other) for other in error.also)
        own = _written(error) if error.file == FILE else None
        if own is None:
            error.also = also
            return error
        option, value, column, width = own
        source = f"{option} {value}".strip()
        return ExperimentError(
            error.message,
            column=len(source) - len(value) + column,
            width=width,
            source=source,
            help=error.help,
            also=also,
        )


def _written(error: ExperimentError) -> tuple[str, str, int, int] | None:
    """Return the option that a line of the file comes from, its value, and where in that the mistake is."""
    if error.source is None or error.column is None:
        return None
    before = error.source[: error.column]
    key, _, _ = before.rpartition("=")
    names = key.replace("{", "").replace("=", " ").split()
    option = next((_OPTIONS[name] for name in names if name in _OPTIONS), None)
    start = error.source.find('"', len(key))
    if option is None or start < 0:
        return None
    rest = error.source[start:]
    end = next((i for i in range(1, len(rest)) if rest[i] == '"' and rest[i - 1] != "\\"), len(rest))
    try:
        value = str(tomllib.loads(f"x = {rest[: end + 1]}")["x"])
    except tomllib.TOMLDecodeError:
        return None
    inside = error.column - 1 - start
    # A mark under the quote is one under the whole value.
    whole = inside <= 0 or len(value) != end - 1
    return option, value, 1 if whole else inside, len(value) if whole else (error.width or 1)
