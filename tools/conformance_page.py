"""Writes docs/conformance-results.md: every case of every document, on everything of ours that the document is about.

tools/conformance_page.py            # some twenty seconds
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sojourn import _core, runner
from sojourn.core.run import Run
from sojourn.core.store import RunKey
from sojourn.evidence.conformance import documents, examine
from sojourn.reporting.conformance import page

PAGE: Final = Path(__file__).parent.parent / "docs" / "conformance-results.md"

HEAD: Final = """\
# Conformance: the result of each case

The build of this site ran every case with `tools/conformance_page.py`; [Conformance](conformance.md) explains cases and
verdicts. *deviates*: the case fails for a known reason, given below the table. **failed**: the case fails for an
unknown reason.
"""


def make(keys: Sequence[RunKey]) -> Sequence[Run]:
    """Make runs, in the order of their keys."""
    return runner.Campaign(keys=keys, threads=2).run()


def text() -> str:
    """Return the page."""
    found = [examine(own, [*own.subjects, *own.also], make) for own in documents().values()]
    return "\n".join([HEAD, _models(), "", *page.matrix(found)]).rstrip() + "\n"


def _models() -> str:
    """Return a sentence that leads to the pages of the subjects."""
    kinds = {"controls": json.loads(_core.ccs()), "disciplines": json.loads(_core.qdiscs())}
    pages = {entry["name"]: f"reference/{kind}/{entry['name']}.md" for kind, own in kinds.items() for entry in own}
    names = dict.fromkeys(subject.name for own in documents().values() for subject in [*own.subjects, *own.also])
    links = ", ".join(f"[`{name}`]({pages[name]})" for name in names if name in pages)
    return f"The pages of the subjects explain how we read the open points of their texts: {links}."


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
