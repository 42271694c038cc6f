"""Measure the references of a document in its suites again, and write the figures where `sojourn evaluate` finds them.

    tools/evaluation_reference.py rfc-9743 [rfc-7928 ...]
    tools/evaluation_reference.py rfc-9743 --only rfc-9743/tunnels

Some minutes on two cores. A change of the simulator that moves the figures on purpose is followed by this. With
`--only` the figures of other suites stay as they are: for a suite that is new or was changed, where nothing else was.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from sojourn.cli.progress import watching
from sojourn.evidence.evaluation import Campaign, Document, Subject, Values, read, reference

HERE = Path(__file__).parent.parent


def main(name: str, only: list[str]) -> None:
    """Write the file of a document."""
    document = read(name)
    asked = document
    if only:
        if unknown := set(only) - set(document.suites):
            raise SystemExit(f"{name} has no suite {', '.join(sorted(unknown))}")
        asked = replace(document, rows=tuple(row for row in document.rows if row.suite in only))
    measured = {}
    for own, word in document.references.items():
        campaign = Campaign.plan(asked, Subject(word, document.of))
        if campaign.refused:
            raise SystemExit(f"{word}: {campaign.refused}")
        measured[own] = _beside(document, own, only, campaign.measure(watching))
    file = HERE / "python" / "sojourn" / "evidence" / "evaluation" / "reference" / f"{name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(reference.text(document, measured, only or document.suites), encoding="utf-8")
    sys.stdout.write(f"{file}: {file.stat().st_size} bytes\n")


def _beside(document: Document, own: str, only: list[str], fresh: Values) -> Values:
    """Return a reference's values: fresh ones, and the stored ones of the other suites."""
    if not only:
        return fresh
    kept = reference.stored(document, own)
    whole = Values()
    for suite in document.suites:
        source = fresh if suite in only else kept
        whole.by_place |= {place: values for place, values in source.by_place.items() if place[0] == suite}
    return whole


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="+")
    parser.add_argument("--only", action="append", default=[], metavar="SUITE")
    arguments = parser.parse_args()
    for each in arguments.documents:
        main(each, arguments.only)
