"""``sojourn conformance marking``: a queue's marking curve, judged by the law that its words state."""

import sys
from collections.abc import Sequence
from pathlib import Path

from sojourn.errors import UsageError


def marking(
    names: Sequence[str],
    qdiscs: Sequence[str],
    law: str | None,
    form: str,
    engine: str,
    seeds: int | None,
    threads: int | None,
    plugins: Sequence[str],
    output: Path | None,
    *,
    details: bool,
) -> None:
    """Judge queues; exit with status 1 if a case fails or none passes."""
    from sojourn.cli.making import maker
    from sojourn.cli.screen import out, print_json
    from sojourn.evidence.marking import examine
    from sojourn.evidence.marking.page import as_json, lines

    if not qdiscs:
        raise UsageError("marking judges a queue", help="name one: --qdisc 'codel ecn'")
    if form not in {"text", "json"}:
        raise UsageError(f"marking has no format {form}", help="--format text or json")
    wanted = [case for name in names if (case := name.partition("/")[2])]

    make = maker(engine, threads, output)
    found = [
        examine(qdisc, make, law=law, names=wanted, engine=engine, seeds=seeds, plugins=plugins) for qdisc in qdiscs
    ]
    if form == "json":
        print_json(as_json(found[0]) if len(found) == 1 else [as_json(one) for one in found])
    else:
        for one in found:
            for line in lines(one, details=details):
                out().print(line, soft_wrap=True, markup=False, highlight=False)
    if not all(one.is_passed for one in found):
        sys.exit(1)
