"""A batch file's runs as experiments: one experiment a batch, one cell a run."""

import fnmatch
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tomli_w

from sojourn.errors import ExperimentError, UsageError
from sojourn.experiments import experiment
from sojourn.experiments.experiment import Experiment
from sojourn.interop.batch import expand, flows, hooks, language, shell
from sojourn.interop.batch.expand import Expanded
from sojourn.interop.batch.language import Batches, Section
from sojourn.interop.batch.placed import File, Placed
from sojourn.interop.batch.setup import SetUp, Way
from sojourn.interop.packed import read_file

_HARNESS: Final = ("flent_clear", "flent_setup", "flent_teardown", "flent_process")
_SET_UP: Final = "flent_setup"

_STACKS: Final = {"l4s": "l4steam-2020-08", "sce": "sce-2020-03"}
"""The stacks of the harness's architectures, unless ``--set experiment.stack=…`` says otherwise."""

_ECN: Final = {"l4s": "accecn", "sce": "sce"}
"""The negotiation of its hosts: sysctl tcp_ecn=3, and tcp_sce=1 with tcp_ecn=1."""

_TUNNELS: Final = {
    "10.9.99.2": "wireguard",
    "10.9.89.2": "wireguard",
    "10.9.98.2": "fou",
    "10.9.88.2": "fou",
    "10.9.97.2": "esp",
}
"""The harness's addresses of the server inside its tunnels (the batch's ns_srv_* and phys_srv_*)."""

_STEP: Final = "0.05"
"""Seconds; the harness's, not Flent's."""
_DEFAULT_LENGTH: Final = "60"


@dataclass(frozen=True, slots=True)
class Note:
    """Something that has no effect here, and where it stands."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The experiments of a batch file, and notes on words without an effect in them."""

    experiments: Sequence[Experiment]
    notes: Sequence[Note]


def load(
    path: str | os.PathLike[str],
    *,
    batches: Sequence[str] = (),
    settings: Sequence[str] = (),
    seeds: int | None = None,
    engine: str = "sim",
) -> Selection:
    """Read a batch file and map its runs to experiments.

    Args:
        path: where it is.
        batches: which of its batches, as names or globs (default: all that are neither abstract nor disabled).
        settings: changes as ``path=value``, for every run.
        seeds: the number of seeds a run, instead of the batch's repetitions.
        engine: the engine to run them.

    Raises:
        ExperimentError: naming everything that cannot be mapped, with its line; each only once.
        UsageError: if the file cannot be read or has no such batch.
    """
    file = Path(path)
    read = language.read(_text(file), str(file))
    notes: dict[tuple[int, str], Note] = {}

    def tell(text: str, at: Placed) -> None:
        notes.setdefault((at.line, text), Note(read.file.name, at.line, text))

    mapped: dict[str, list[str]] = {}
    failed: dict[tuple[int | None, str], ExperimentError] = {}
    for batch in _chosen(read, batches):
        texts = mapped.setdefault(batch.name, [])
        for one in expand.runs(read, batch):
            try:
                texts.append(as_toml(one, tell))
            except ExperimentError as error:
                failed.setdefault((error.line, error.message), error)
    if failed:
        raise _all(list(failed.values()))
    return Selection(
        [_load(file, name, texts, settings, seeds, engine) for name, texts in mapped.items()],
        sorted(notes.values(), key=lambda note: note.line),
    )


def _text(file: Path) -> str:
    if not file.exists():
        raise UsageError(f"there is no file {file}")
    content = read_file(file, _MOST, kind="a Flent batch file", too_large="a batch file has some kilobytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not a text in UTF-8") from error


_MOST: Final = 16 << 20
"""Bytes of a batch file."""


def _chosen(read: Batches, patterns: Sequence[str]) -> list[Section]:
    usable = {name: batch for name, batch in read.batches.items() if batch.runs}
    if not patterns:
        if not usable:
            raise UsageError(f"{read.file.name} has no batch to run", help="those that it has are abstract or disabled")
        return list(usable.values())
    chosen: dict[str, Section] = {}
    for pattern in patterns:
        fits = fnmatch.filter(usable, pattern.lower())
        if not fits:
            if fnmatch.filter(read.batches, pattern.lower()):
                raise UsageError(
                    f'the batch "{pattern}" is abstract or disabled', help=f"available: {', '.join(usable)}"
                )
            raise UsageError.unknown(f"batch in {read.file.name} called", pattern, list(usable))
        chosen.update({name: usable[name] for name in fits})
    return list(chosen.values())


def _all(errors: Sequence[ExperimentError]) -> ExperimentError:
    first, *others = errors
    return ExperimentError(
        first.message,
        file=first.file,
        line=first.line,
        column=first.column,
        width=first.width,
        source=first.source,
        help=first.help,
        also=others,
    )


def _load(
    file: Path, name: str, texts: Sequence[str], settings: Sequence[str], seeds: int | None, engine: str
) -> Experiment:
    place = f"{file} [Batch::{name}]"
    read = [experiment.parse(text, place, settings=settings, seeds=seeds, engine=engine) for text in texts]
    keys = [key for one in read for key in one.run_keys]
    about = f"{len(texts)} runs of a Flent batch"
    return Experiment(name, about, f"{file.name}, Batch::{name}", engine, keys)


# --- one run ------------------------------------------------------------------------------------------------------


def as_toml(run: Expanded, tell: Callable[[str, Placed], None]) -> str:
    """Return one run as the text of an experiment; ``tell`` is called with each word that has no effect.

    Raises:
        ExperimentError: at the first thing that cannot be mapped.
    """
    file = run.batches.file
    test = run.get("test_name")
    if test is None:
        raise file.error(f"Batch::{run.section.name} has no test_name", run.section.line)
    streams = flows.streams(test, flows.parameters(run.get("test_parameters"), file), file)
    uploads_only = all(stream.way == "to-server" for stream in streams)
    setup = SetUp(
        {"to-server": "down", "to-client": "up"} if uploads_only else {"to-server": "up", "to-client": "down"},
        tell=tell,
    )
    arch = _set_up(run, setup)
    text = {
        "experiment": {
            "name": run.section.name,
            "source": f"{Path(file.name).name}, Batch::{run.section.name}",
            "stack": _STACKS.get(arch, "linux-7.3"),
            "duration": f"{_seconds(run, 'length', _DEFAULT_LENGTH):g}s",
            "sample_interval": f"{_seconds(run, 'step_size', _STEP):g}s",
            "seeds": int(_seconds(run, "repetitions", "1")),
        },
        "axis": {name: {label: {}} for name, label in run.labels.items()},
        "hop": [setup.hop],
        **_tunnel(run, [stream.name for stream in streams], tell),
        "flow": [_flow(stream, setup, arch) for stream in streams]
        + flows.probes(test, setup.sides["to-server"], _seconds(run, "step_size", _STEP)),
        "event": setup.events,
    }
    return tomli_w.dumps({key: value for key, value in text.items() if value})


def _flow(stream: flows.Stream, setup: SetUp, arch: str) -> dict[str, Any]:
    flow = flows.settings(stream, setup.sides[stream.way])
    if arch in _ECN:
        flow["ecn"] = _ECN[arch]
    if stream.dscp in setup.base_rtt:
        flow["rtt"] = setup.base_rtt[stream.dscp]
    way: Way = stream.way
    if way in setup.host_qdisc:
        flow["host_qdisc"] = setup.host_qdisc[way]
    return flow


def _set_up(run: Expanded, setup: SetUp) -> str:
    """Apply the hooks of the harness's set-up; return its architecture."""
    file = run.batches.file
    arch: str | None = None
    for command in expand.commands(run):
        exec_ = command.values.get("exec")
        if exec_ is None:
            raise file.error(f"Command::{command.name} has no exec", command.line)
        kept, missing = shell.without_unset(exec_)
        for name in missing:
            setup.tell(f"{name} is set nowhere: empty, as the shell has it", name)
        words = shell.words(kept, file)
        at = next((i for i, word in enumerate(words) if word.text in _HARNESS), None)
        if at is None:
            raise file.error(
                f'Command::{command.name} cannot be mapped: "{words[0] if words else ""}" is not the harness',
                exec_,
                help=f"what is understood: ./fl {', '.join(_HARNESS)}",
            )
        if words[at].text != _SET_UP:
            continue
        arguments = words[at + 1 :]
        if len(arguments) < len(("arch", "net", "file")):
            raise file.error(f"{_SET_UP} needs an architecture, a net and an output file", words[at])
        arch = arguments[0].text
        if arch not in _STACKS:
            raise file.error(f'"{arch}" is no architecture', arguments[0], help=f"available: {', '.join(_STACKS)}")
        hooks.apply(setup, shell.again(arguments[3:], file), file)
    if arch is None:
        raise file.error(
            f"Batch::{run.section.name} has no command that sets up a bottleneck",
            run.section.line,
            help="its commands need one that calls the harness's flent_setup with hooks",
        )
    return arch


def _tunnel(run: Expanded, names: Sequence[str], tell: Callable[[str, Placed], None]) -> dict[str, Any]:
    hosts = run.get("hosts")
    kind = None if hosts is None else _TUNNELS.get(hosts.text.strip())
    if kind is None:
        return {}
    tunnel: dict[str, Any] = {"name": "tunnel", "kind": kind, "flows": list(names)}
    window = run.get("replay_window")
    if kind == "esp" and window is not None:
        tunnel["replay_window"] = int(_number(window, run.batches.file))
        tell("replay_window is taken at its word; the harness has it in its script", window)
    return {"tunnel": [tunnel]}


def _seconds(run: Expanded, key: str, default: str) -> float:
    value = run.get(key)
    return float(default) if value is None else _number(value, run.batches.file)


def _number(value: Placed, file: File) -> float:
    try:
        number = float(value.text)
    except ValueError:
        raise file.error(f"{json.dumps(value.text)} is no number", value) from None
    return number
