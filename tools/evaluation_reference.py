"""Measure anew what the reference controls do in a document's suites, and write it where `sojourn evaluate` finds it.

    tools/evaluation_reference.py rfc-9743

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
    for word in reference.CONTROLS:
        campaign = Campaign.plan(document, Subject(word))
        if campaign.refused:
            raise SystemExit(f"{word}: {campaign.refused}")
        measured[word] = campaign.measure(watching)
    file = HERE / "python" / "sojourn" / "evidence" / "evaluation" / "reference" / f"{name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(reference.text(document, measured), encoding="utf-8")
    sys.stdout.write(f"{file}: {file.stat().st_size} bytes\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
