"""The runs of a batch: the product of its ``for_`` keys, and every value with its ``${names}`` filled in.

A run's names are the batch's keys, then ``repetition`` and ``batch_time``, then the chosen args in the order of the
``for_`` keys; later ones override. A name that is unknown is left as it stands (the shell sees it then); ``$$`` is a
``$``. Flent allows a thousand fillings in one value and calls what needs more cyclic.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from math import prod
from typing import Final

from sojourn.interop.batch.language import Batches, Section, Values, unknown
from sojourn.interop.batch.placed import Placed

_NAME: Final = re.compile(r"(?<!\$)\$\{([^}]+)\}")
_MOST: Final = 1000
_MOST_RUNS: Final = 100_000
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Expanded:
    """One run of a batch."""

    section: Section
    labels: Mapping[str, str]
    """The args chosen, by the ``for_`` key without its ``for_``; only where there is a choice."""
    names: Mapping[str, Placed]
    """What ``${name}`` stands for, itself not filled in."""
    batches: Batches

    def get(self, key: str) -> Placed | None:
        """Return a value, filled in; None where there is none."""
        value = self.names.get(key)
        return None if value is None else fill(value, self.names, self.batches)


def runs(batches: Batches, batch: Section) -> Iterator[Expanded]:
    """Yield the runs of a batch in Flent's order, the last ``for_`` key varying fastest; repetitions are seeds here.

    Raises:
        ExperimentError: if a ``for_`` key names no arg, a value goes round in circles, or the product is beyond bound.
    """
    axes = {key: _matches(value, batches) for key, value in batch.values.items() if key.startswith("for_")}
    count = prod(len(args) for args in axes.values())
    if count > _MOST_RUNS:
        raise batches.file.error(
            f"{count} runs are more than {_MOST_RUNS}",
            batch.values[max(axes, key=lambda key: len(axes[key]))],
            help="name fewer args in the for_ keys",
        )
    for chosen in product(*axes.values()):
        own: Values = dict(batch.values)
        own["repetition"] = Placed.of("01", batch.line)
        own["batch_time"] = Placed.of("1970-01-01T000000", batch.line)
        for arg in chosen:
            own.update({k: v for k, v in batches.args[arg].values.items() if k != "inherits"})
        # Settings of Flent's that values may name.
        own.setdefault("batch_name", Placed.of(batch.name, batch.line))
        own.setdefault("batch_title", Placed.of("batch", batch.line))
        extra = own.get("filename_extra", Placed.of("-".join([*chosen, "01"]), batch.line))
        data = f"batch-{batch.name}-{fill(extra, own, batches).text.strip()}"
        own.setdefault("data_filename", Placed.of(_UNSAFE.sub("_", data), batch.line))
        labels = {key.removeprefix("for_"): arg for key, arg in zip(axes, chosen, strict=True) if len(axes[key]) > 1}
        yield Expanded(batch, labels, own, batches)


def fill(value: Placed, names: Mapping[str, Placed], batches: Batches) -> Placed:
    """Return a value with every known ``${name}`` in it replaced.

    Raises:
        ExperimentError: after a thousand replacements.
    """
    filled, start, count = value, 0, 0
    while (match := _NAME.search(filled.text, start)) is not None:
        known = names.get(match[1])
        if known is None:
            start = match.end()
            continue
        count += 1
        if count > _MOST:
            raise batches.file.error(
                f"${{{match[1]}}} goes round in circles", value, help="a name cannot contain itself"
            )
        filled = Placed.join([filled[: match.start()], known, filled[match.end() :]], value.line)
    at = 0
    while (at := filled.text.find("$$", at)) >= 0:
        filled = filled[:at] + filled[at + 1 :]
        at += 1
    return filled


def commands(run: Expanded) -> list[Section]:
    """Return the commands of a run, expanded, in order: each once, followed by those that it adds."""
    said = run.get("commands")
    waiting = said.split(",") if said is not None else []
    batches = run.batches
    found: dict[str, Section] = {}
    while waiting:
        word = waiting.pop(0)
        name = word.text.lower()
        if name in found:
            continue
        if name not in batches.commands:
            raise unknown("command", word, list(batches.commands), batches.file)
        command = batches.commands[name]
        own = {**command.values, **run.names}
        filled = Section(name, command.line, {k: fill(v, own, batches) for k, v in command.values.items()})
        if not filled.runs:
            continue
        found[name] = filled
        more = filled.values.get("extra_commands")
        waiting = [*(more.split(",") if more is not None else []), *waiting]
    return list(found.values())


def _matches(value: Placed, batches: Batches) -> list[str]:
    matched: list[str] = []
    for word in value.split(","):
        pattern = word.unquoted().text.lower()
        fits = [name for name in batches.args if fnmatchcase(name, pattern)]
        if not fits:
            raise unknown("arg", word.unquoted(), list(batches.args), batches.file)
        matched.extend(fits)
    return list(dict.fromkeys(matched))
