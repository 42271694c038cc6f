"""Completions for shells: names of suites, queues, controls, stacks, engines, kernels, figures; words of metrics.

None of it runs an experiment or reads a suite's file, so that a Tab answers at once.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

import typer

_METRIC: Final = re.compile(r"(?P<before>.*?)(?P<open>\(\s*)?(?P<word>[a-z_0-9]*)", re.DOTALL)
"""An incomplete expression: its finished part, whether a bracket was just opened, and its last word."""


def suites(incomplete: str) -> list[str]:
    """Return suites and their scenarios."""
    from sojourn.experiments import library

    found = library.suites()
    scenarios = (f"{suite}/{name}" for suite, own in found.items() for name, _ in library.in_order(own))
    return _fitting([*found, *scenarios], incomplete)


def runnable(incomplete: str) -> list[str]:
    """Return suites, their scenarios, and the word for all of them."""
    from sojourn.experiments import library

    return [*_fitting([library.ALL], incomplete), *suites(incomplete)]


def qdiscs(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield queue disciplines with their summaries."""
    from sojourn.core import listings

    return _described(listings.qdiscs(), incomplete)


def ccs(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield congestion controls with their summaries."""
    from sojourn.core import listings

    return _described(listings.ccs(), incomplete)


def links(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield links that words name with their summaries."""
    from sojourn.core import listings

    return _described(listings.links(), incomplete)


def elements(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield path elements that words name with their summaries."""
    from sojourn.core import listings

    return _described(listings.elements(), incomplete)


def apps(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield applications that words name with their summaries."""
    from sojourn.core import listings

    return _described(listings.apps(), incomplete)


def stacks(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield stacks with their summaries."""
    from sojourn.core import listings

    return _described(listings.stacks(), incomplete)


def evaluations(incomplete: str) -> list[str]:
    """Return the documents that `sojourn evaluate` asks by."""
    from sojourn.evidence.evaluation import documents

    return _fitting(documents(), incomplete)


def engines(incomplete: str) -> list[str]:
    """Return engines."""
    from sojourn import _core

    return _fitting(_core.engines(), incomplete)


def kernels(incomplete: str) -> list[str]:
    """Return the kernels of the Linux engine."""
    from sojourn.linux.kernels import kernels as built

    return _fitting([kernel.label for kernel in built()], incomplete)


def starts(incomplete: str) -> list[str]:
    """Return the files that an experiment can start from: the package's own, then every scenario of its suites."""
    from sojourn.experiments import starts as own

    return [*_fitting(own.starts(), incomplete), *(name for name in suites(incomplete) if "/" in name)]


def pages(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the pages of the documentation with their titles."""
    from sojourn import manual
    from sojourn.errors import UsageError

    try:
        found = manual.pages()
    except UsageError:
        return iter(())
    return _meant(((name, manual.title(path)) for name, path in found.items()), incomplete)


def metrics(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield how the metric that is being written may go on: functions, and after a bracket a quantity."""
    import json

    from sojourn import _core

    found = _METRIC.fullmatch(incomplete)
    assert found is not None  # noqa: S101 - it fits any text
    words = json.loads(_core.metrics())
    if found["open"]:
        before = found["before"] + found["open"]
        described = [(entry["name"], entry["doc"]) for entry in words["quantities"]]
    else:
        before = found["before"]
        described = [(f"{entry['name']}(", entry["unit"] or "") for entry in words["functions"]]
    return _meant(((before + name, doc) for name, doc in described), incomplete)


def figures(incomplete: str) -> list[str]:
    """Return kinds of figures."""
    from sojourn.core.extensions import FIGURES

    return _fitting(FIGURES.names, incomplete)


def figure_options(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield options of the kind of figure that the line names, or the values that one of them may have."""
    from sojourn.plotting.figures import KINDS

    kind = KINDS.get(ctx.params.get("kind") or "")
    name, equals, _ = incomplete.partition("=")
    for option in kind.options if kind else ():
        if equals:
            values = option.choices or () if option.name == name else ()
            yield from _meant(((f"{name}={value}", "") for value in values), incomplete)
        else:
            yield from _meant([(f"{option.name}=", option.meaning)], incomplete)


def _described(entries: Iterable[dict[str, str]], incomplete: str) -> Iterator[tuple[str, str]]:
    return _meant(((entry["name"], entry["summary"]) for entry in entries), incomplete)


def _meant(entries: Iterable[tuple[str, str]], incomplete: str) -> Iterator[tuple[str, str]]:
    # Typer breaks long lines, and fish takes the second line for another name.
    return (
        (name, textwrap.shorten(meaning, 72, placeholder=" …"))
        for name, meaning in entries
        if name.startswith(incomplete)
    )


def _fitting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
