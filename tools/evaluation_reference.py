"""Measure anew what the references of a document do in its suites, and write it where `sojourn evaluate` finds it.

    tools/evaluation_reference.py rfc-9743 [rfc-7928 ...]

Some minutes on two cores. A change of the simulator that moves the figures on purpose is followed by this.
"""

import sys
from pathlib import Path

from sojourn.cli.progress import watching
from sojourn.evidence.evaluation import Campaign, Subject, read, reference

HERE = Path(__file__).parent.parent


def main(name: str) -> None:
    """Write the file of a document."""
    document = read(name)
    measured = {}
    for own, word in document.references.items():
        campaign = Campaign.plan(document, Subject(word, document.of))
        if campaign.refused:
            raise SystemExit(f"{word}: {campaign.refused}")
        measured[own] = campaign.measure(watching)
    file = HERE / "python" / "sojourn" / "evidence" / "evaluation" / "reference" / f"{name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(reference.text(document, measured), encoding="utf-8")
    sys.stdout.write(f"{file}: {file.stat().st_size} bytes\n")


if __name__ == "__main__":
    for asked in sys.argv[1:]:
        main(asked)
