"""Verdicts as people read them: in lines, as Markdown, and as a page that stands alone."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from sojourn.evidence.conformance import CaseVerdict, Document, Examination, Verdict
from sojourn.reporting.markdown import reader


def lines(found: Sequence[Examination], *, details: bool) -> Iterator[str]:
    """Yield the lines for the terminal.

    Args:
        found: the results for the documents.
        details: whether every expectation is shown, and not only what does not hold.
    """
    for one in found:
        yield f"{one.document.title} ({one.document.source})"
        for subject in one.subjects:
            own = [verdict for verdict in one.verdicts if verdict.subject == subject]
            yield ""
            yield f"{subject.name}: {counted(own)}"
            wide = max((len(verdict.case.name) for verdict in own), default=0)
            for verdict in own:
                yield from _case(verdict, wide, details=details)
        yield ""


def _case(own: CaseVerdict, wide: int, *, details: bool) -> Iterator[str]:
    known = " (known)" if own.verdict is Verdict.FAILED and own.known else ""
    share = f" in {own.share}" if own.share else ""
    yield f"  {own.case.name:{wide}}  {own.verdict}{known}{share}: {own.case.title}"
    if own.verdict is Verdict.FAILED:
        yield from _deviation(own)
    elif own.verdict is not Verdict.PASSED:
        yield f"      {own.reason}"
    if known:
        yield f"      known: {own.known}"
    if details:
        for outcome in own.outcomes:
            yield f"      §{outcome.expectation.section} {outcome.expectation.says}: {outcome.verdict}"
            yield f"        {outcome.expectation.text} ({outcome.steps} steps)"


def _deviation(own: CaseVerdict) -> Iterator[str]:
    yield f"      {own.reason}"
    if own.deviation is not None:
        yield f"      expected: {own.deviation.expected}"


def counted(verdicts: Sequence[CaseVerdict]) -> str:
    """Return how many cases came out how: ``20 passed, 2 failed (1 of them known)``."""
    counts = Counter(own.verdict for own in verdicts)
    known = sum(own.verdict is Verdict.FAILED and bool(own.known) for own in verdicts)
    parts = []
    for verdict in Verdict:
        if counts[verdict]:
            of = f" ({known} of them known)" if verdict is Verdict.FAILED and known else ""
            parts.append(f"{counts[verdict]} {verdict}{of}")
    return ", ".join(parts)


def listing(documents: Mapping[str, Document]) -> Iterator[str]:
    """Yield a line for each document."""
    wide = max((len(name) for name in documents), default=0)
    for name, own in documents.items():
        who = ", ".join(subject.name for subject in own.subjects)
        yield f"{name:{wide}}  {len(own.cases):2} cases  {own.title}; {own.source} (default: {who})"


def matrix(found: Sequence[Examination]) -> list[str]:
    """Return a table of each document in Markdown: a row a case, a column a subject."""
    out = []
    for one in found:
        names = [subject.name for subject in one.subjects]
        out += [
            f"## `{one.document.name}`: {one.document.title}",
            "",
            f"{one.document.source}. {one.document.about}.",
            "",
            f"| case | section | {' | '.join(f'`{name}`' for name in names)} |",
            f"|---|---|{'---|' * len(names)}",
        ]
        for case in one.document.cases:
            own = {verdict.subject.name: verdict for verdict in one.verdicts if verdict.case.name == case.name}
            cells = [_mark(own[name]) for name in names]
            stem = case.name.partition("/")[2]
            out.append(f"| `{stem}`: {_cell(case.title)} | {case.section} | {' | '.join(cells)} |")
        out += ["", *_remarks(one), ""]
    return out


def _mark(own: CaseVerdict) -> str:
    word = own.verdict.value
    if own.verdict is Verdict.FAILED:
        word = "deviates" if own.known else "**failed**"
    return f"{word} {own.share}".rstrip() if own.verdict in {Verdict.PASSED, Verdict.FAILED} else word


def _remarks(one: Examination) -> Iterator[str]:
    for own in one.verdicts:
        if own.verdict is Verdict.FAILED:
            why = f" {own.known[0].upper()}{own.known[1:]}." if own.known else ""
            yield f"- `{own.subject.name}`, `{own.case.name.partition('/')[2]}`: {_cell(own.reason)}.{why}"


def markdown(found: Sequence[Examination], pictures: Mapping[tuple[str, str], str]) -> str:
    """Return everything as Markdown.

    Args:
        found: the results for the documents.
        pictures: the file of each picture, by the names of case and subject.
    """
    out = ["# Conformance", "", *matrix(found)]
    for one in found:
        for own in one.verdicts:
            out += _section(own, pictures.get((own.case.name, own.subject.name), ""))
    return "\n".join(out).rstrip() + "\n"


def _section(own: CaseVerdict, picture: str) -> Iterator[str]:
    yield f"## {own.case.name}, {own.subject.name}: {own.verdict}{f' in {own.share} runs' if own.share else ''}"
    yield ""
    yield f"**{own.case.title}** (§{own.case.section}). Precondition: {own.case.precondition}. "
    yield f"Stimulus: {own.case.stimulus}. Expected: {own.case.expected}."
    yield ""
    if own.reason:
        yield f"{own.verdict[0].upper()}{own.verdict[1:]}: {own.reason}."
        yield ""
    if own.known:
        yield f"Known deviation: {own.known}."
        yield ""
    if own.outcomes:
        yield "| section | what | asked | verdict | first step that deviates |"
        yield "|---|---|---|---|---|"
    for outcome in own.outcomes:
        at = ""
        if outcome.deviation is not None:
            when = "" if math.isnan(outcome.deviation.at_s) else f"{outcome.deviation.at_s:.3f} s: "
            at = f"{when}{_cell(outcome.deviation.seen)}"
        asked = _cell(" ".join(outcome.expectation.text.split()))
        says = _cell(outcome.expectation.says)
        yield f"| {outcome.expectation.section} | {says} | `{asked}` | {outcome.verdict} | {at} |"
    yield ""
    if picture:
        yield f"![{own.case.title}]({picture})"
        yield ""


def html(text: str) -> str:
    """Return a page that needs no other file but its pictures, of a text in Markdown."""
    style = (files("sojourn.reporting.report") / "templates" / "style.css").read_text(encoding="utf-8")
    body = reader().render(text)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Conformance</title>\n'
        f"<style>{style}</style></head>\n<body>\n{body}</body></html>\n"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
