"""The pages of the claims: an index for docs/claims.md, and a page for each claim.

    tools/claims_pages.py docs/claims          # what `make docs` does: writes the pages, runs and draws one cell each
    tools/claims_pages.py --measure DIR        # judges a folder; writes docs/tables/claims.csv and claims-parts.csv

The registry has claims, bounds and remarks; the CSV files have our values, of the last campaign that ran all claims.
claims-real.csv has the parts of claims that were run with real TCP (`tools/real_tcp.py`).
"""

import csv
import itertools
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import run_here
from site_tables import markdown

import sojourn
from sojourn import _core
from sojourn.evidence import claims
from sojourn.evidence.claims import ClaimVerdict, Verdict, evaluate, page, registry
from sojourn.evidence.claims.verdicts import WORST_FIRST
from sojourn.experiments import library
from sojourn.experiments.experiment import Experiment
from sojourn.views.results import results

ROOT: Final = Path(__file__).parents[1]
TABLES: Final = ROOT / "docs" / "tables"
CACHE: Final = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "claims"

VERDICTS: Final = ("claim", "seeds", "ours", "runs", "verdict")
PARTS: Final = ("claim", "part", "bound", "cells", "reproduced", "least", "greatest", "seeds", "verdict")

MEASURE: Final = "--measure"
REAL: Final = "claims-real.csv"
ARGUMENTS: Final = (2, 3)


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of docs/tables."""
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def totals() -> str:
    """Return how many claims our runs reproduce, in a sentence."""
    found = rows("claims.csv")
    counts = {verdict: sum(own["verdict"].startswith(verdict) for own in found) for verdict in Verdict}
    counts[Verdict.REPRODUCED] = sum(own["verdict"] == Verdict.REPRODUCED for own in found)
    missed = {own["claim"] for own in found if own["verdict"].startswith(Verdict.NOT_REPRODUCED)}
    witnessed = sum(own.id in missed and bool(own.witness) for own in registry())
    return (
        f"Our runs reproduce {counts[Verdict.REPRODUCED]} of {len(found)} claims and do not reproduce "
        f"{counts[Verdict.NOT_REPRODUCED]}; {counts[Verdict.INCONCLUSIVE]} is inconclusive. For {witnessed} of the "
        f"claims that ours do not reproduce, real Linux or the publishers' own data do not show the finding either."
    )


def index() -> str:
    """Return the totals and a table for each report."""
    ours = {own["claim"]: own for own in rows("claims.csv")}
    real = _by_claim(REAL)
    parts = [totals(), ""]
    for source, group in itertools.groupby(registry(), key=lambda claim: claim.source):
        lines = []
        for claim in group:
            verdict = ours[claim.id]["verdict"]
            shown = verdict if verdict == Verdict.REPRODUCED else f"**{verdict}**"
            witness = " (nor by others)" if claim.witness and verdict.startswith(Verdict.NOT_REPRODUCED) else ""
            lines.append(
                [
                    f"[{claim.id}](claims/{claim.id}.md)",
                    claim.finding,
                    claim.published,
                    shown + witness,
                    with_real_tcp(real.get(claim.id, []), len(claim.parts)),
                ]
            )
        head = ["claim", "finding", "published", "our verdict", "with Linux's TCP"]
        if not any(line[-1] for line in lines):
            head, lines = head[:-1], [line[:-1] for line in lines]
        parts += [f"## {source}", "", markdown(head, lines), ""]
    return "\n".join(parts)


def with_real_tcp(parts: Sequence[dict[str, str]], of: int) -> str:
    """Return the verdict on the parts of a claim that were run with a kernel's TCP; empty where none was."""
    if not parts:
        return ""
    verdict = next(own for own in WORST_FIRST if any(part["verdict"].startswith(own) for part in parts))
    return verdict if len(parts) == of else f"{verdict} ({len(parts)} of {of} parts)"


def _by_claim(name: str) -> dict[str, list[dict[str, str]]]:
    return {claim: list(group) for claim, group in itertools.groupby(rows(name), lambda own: own["claim"])}


def _place(verdict: ClaimVerdict, ours: str) -> tuple[Experiment, str]:
    """Return the cell that decides a claim, as an experiment of one run, and the suite's name."""
    found = next(
        (
            (own, cell)
            for own in verdict.parts
            for cell in own.cells
            if ours.endswith(_ending(own.part.what, cell.title))
        ),
        (verdict.parts[0], verdict.parts[0].cells[0]),
    )
    part, cell = found
    measure = next(iter(part.part.measures.values()))
    (named,) = library.resolve(measure.experiment)
    experiment = sojourn.load(named.file, seeds=1)
    labels = {axis: own[0] for axis, own in measure.at.items()} | dict(cell.labels)
    known = {axis: label for axis, label in labels.items() if axis in experiment.axes}
    chosen = experiment.only(**known)
    return _first(chosen), measure.experiment


def _ending(what: str, title: str) -> str:
    return f": {what}; {title}" if title else f": {what}"


def _first(experiment: Experiment) -> Experiment:
    labels = dict(experiment.run_keys[0].scenario.labels)
    return experiment.only(**labels) if labels else experiment


def _drawn(experiment: Experiment, folder: Path, name: str) -> str:
    """Draw the first run of an experiment; return the caption. A drawing by this version is kept."""
    kept = CACHE / _core.version("sim") / name
    if not kept.with_suffix(".txt").is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        picture = experiment.run(quiet=True).plot("timeseries")
        picture.write(kept.parent, name)
        kept.with_suffix(".txt").write_text(picture.caption)
    for file in kept.parent.glob(f"{name}.*"):
        if file.suffix in {".svg", ".csv"}:
            shutil.copy(file, folder / file.name)
    return kept.with_suffix(".txt").read_text()


def write(folder: Path) -> None:
    """Write the page of each claim."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ours = {own["claim"]: own for own in rows("claims.csv")}
    parts, real = _by_claim("claims-parts.csv"), _by_claim(REAL)
    for verdict in evaluate(registry(), []):
        name = verdict.claim.id
        text = _page(verdict, ours[name], (parts[name], real.get(name, [])), folder)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def _page(
    verdict: ClaimVerdict,
    ours: dict[str, str],
    measured_parts: tuple[Sequence[dict[str, str]], Sequence[dict[str, str]]],
    folder: Path,
) -> str:
    claim = verdict.claim
    parts, real = measured_parts
    experiment, suite = _place(verdict, ours["ours"])
    caption = _drawn(experiment, folder, claim.id)
    labels = experiment.run_keys[0].scenario.labels
    only = [word for axis, label in labels for word in ("--only", f"{axis}={label}")]
    cell = ", ".join(f"{axis} {label}" for axis, label in labels) or "the only cell"
    value, _, what = ours["ours"].partition(": ")
    commands = "\n".join(
        [
            shlex.join(["sojourn", "run", suite, *only, "--seeds", "1", "--pcap", "-o", f"results/{claim.id}"]),
            shlex.join(["sojourn", "run", *claim.experiments, "--seeds", ours["seeds"], "-o", "results/all"]),
            shlex.join(["sojourn", "claims", "results/all", "--claim", claim.id, "--details"]),
        ]
    )
    sections = [
        f"# {claim.id}: {claim.finding}",
        f"**The source:** {claim.published} ({claim.source}; {claim.where}).",
        (
            f"**Our verdict:** {ours['verdict']}. In the deciding cell: {value}, {what}. We judged {ours['runs']}, "
            f"{ours['seeds']} seeds per cell."
        ),
        f"## What we measure\n\n{_parts(parts)}",
        *_real(real),
        *([f"## Remarks\n\n{claim.remark}"] if claim.remark else []),
        *_reasons(claim),
        (
            f"## The deciding cell\n\n`{suite}`: {cell}; seed 1.\n\n![{claim.id}: one run of the deciding cell]"
            f"({claim.id}.svg)\n\n{caption}\n\n[The numbers]({claim.id}.csv)"
        ),
        run_here.block({cell: experiment.run_keys[0].resolved}),
        (
            "## Run it yourself\n\nThe first command captures the packets of that cell. The others run every cell of "
            f"the claim and judge it.\n\n<!-- not run: the build of this page ran it -->\n```sh\n{commands}\n```"
        ),
    ]
    return "\n\n".join(sections) + "\n"


def _real(parts: Sequence[dict[str, str]]) -> list[str]:
    if not parts:
        return []
    about = (
        "A Linux 7.3 kernel sends and receives the CUBIC and Reno flows; the queues and all other flows are ours "
        f"(`sojourn run --engine linux --real-tcp cubic --real-tcp reno`). {parts[0]['seeds']} seeds per cell."
    )
    return [f"### With Linux's TCP\n\n{about}\n\n{_parts(parts)}"]


def _parts(parts: Sequence[dict[str, str]]) -> str:
    return markdown(
        ["what we measure", "bound", "reproduced in", "over the cells", "verdict"],
        (
            [
                own["part"],
                own["bound"],
                f"{own['reproduced']} of {own['cells']}",
                own["least"] if own["least"] == own["greatest"] else f"{own['least']} to {own['greatest']}",
                own["verdict"],
            ]
            for own in parts
        ),
    )


def _reasons(claim: claims.Claim) -> list[str]:
    found = []
    if claim.witness:
        text = f"**Not reproduced by others either:** {claim.witness}. To check: `{claim.witness_data}`."
        found.append(text)
    if claim.missing:
        own = claim.missing
        rows_ = [["missing mechanism", own.mechanism], ["evidence", own.seen], ["what would settle it", own.settle]]
        found.append(markdown(["no witness", ""], rows_))
    return found


def measured(folder: Path) -> None:
    """Judge every claim in a results folder; write the CSV files."""
    verdicts = evaluate(registry(), results(folder))
    _write("claims.csv", VERDICTS, (_verdict(own) for own in verdicts))
    _write("claims-parts.csv", PARTS, (row for own in verdicts for row in page.part_rows(own)))


def _verdict(own: ClaimVerdict) -> list[str]:
    return [own.claim.id, str(own.seeds), page.ours(own), page.runs(own), page.said(own.verdict, own.cause)]


def _write(name: str, head: Sequence[str], body: Iterable[Sequence[Any]]) -> None:
    with (TABLES / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *body])


if __name__ == "__main__":
    if len(sys.argv) not in ARGUMENTS or (len(sys.argv) == ARGUMENTS[1]) != (sys.argv[1] == MEASURE):
        sys.exit(f"usage: {sys.argv[0]} FOLDER, or {sys.argv[0]} {MEASURE} DIR")
    if sys.argv[1] == MEASURE:
        measured(Path(sys.argv[2]))
    else:
        write(Path(sys.argv[1]))
