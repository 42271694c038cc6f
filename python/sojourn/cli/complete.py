"""What a shell completes: names of suites, of what words of an experiment name, of stacks, engines and kernels.

None of it runs an experiment or reads a suite's file, so that a Tab answers at once.
"""

from collections.abc import Iterable, Iterator


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
    """Yield queue disciplines with what they are."""
    from sojourn.core import listings

    return _told(listings.qdiscs(), incomplete)


def ccs(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield congestion controls with what they are."""
    from sojourn.core import listings

    return _told(listings.ccs(), incomplete)


def elements(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield path elements that words name with what they are."""
    from sojourn.core import listings

    return _told(listings.elements(), incomplete)


def apps(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield applications that words name with what they are."""
    from sojourn.core import listings

    return _told(listings.apps(), incomplete)


def stacks(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield stacks with what they are."""
    from sojourn.core import listings

    return _told(listings.stacks(), incomplete)


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
    """Return what an experiment can begin with: the package's own, then every scenario of its suites."""
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
    return ((name, manual.title(path)) for name, path in found.items() if name.startswith(incomplete))


def _told(entries: Iterable[dict[str, str]], incomplete: str) -> Iterator[tuple[str, str]]:
    return ((entry["name"], entry["summary"]) for entry in entries if entry["name"].startswith(incomplete))


def _fitting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
