"""Verdicts for other programs: TAP version 14, JUnit's XML, JSON.

A case that failed where the deviation is known is ``not ok … # TODO`` in TAP, and skipped in JUnit: neither is a
failure of the build. Cases that are not observable, not applicable or skipped are skipped in both, with the reason.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from sojourn.evidence.conformance import CaseVerdict, Examination, Outcome, Verdict


def tap(found: Sequence[Examination]) -> str:
    """Return the verdicts as TAP (https://testanything.org/tap-version-14-specification.html)."""
    verdicts = [own for one in found for own in one.verdicts]
    lines = ["TAP version 14", f"1..{len(verdicts)}"]
    for number, own in enumerate(verdicts, 1):
        what = _escaped(f"{own.case.name} {own.subject.name}: {own.case.title}")
        match own.verdict:
            case Verdict.PASSED:
                lines.append(f"ok {number} - {what}")
            case Verdict.FAILED:
                todo = f" # TODO {_escaped(own.known)}" if own.known else ""
                lines += [f"not ok {number} - {what}{todo}", *_diagnostics(own)]
            case _:
                lines.append(f"ok {number} - {what} # SKIP {_escaped(f'{own.verdict}: {own.reason}')}")
    return "\n".join(lines) + "\n"


def _diagnostics(own: CaseVerdict) -> Iterator[str]:
    yield "  ---"
    yield f"  message: {json.dumps(own.reason, ensure_ascii=False)}"
    if own.share:
        yield f"  runs: {own.share}"
    if own.deviation is not None:
        if not math.isnan(own.deviation.at_s):
            yield f"  at_s: {own.deviation.at_s:.3f}"
        yield f"  expected: {json.dumps(own.deviation.expected, ensure_ascii=False)}"
        yield f"  seen: {json.dumps(own.deviation.seen, ensure_ascii=False)}"
    yield "  ..."


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("#", "\\#")


def junit(found: Sequence[Examination]) -> str:
    """Return the verdicts as JUnit's XML, as CI systems read it."""
    root = ET.Element("testsuites", name="sojourn conformance")
    for one in found:
        for subject in one.subjects:
            own = [verdict for verdict in one.verdicts if verdict.subject == subject]
            counts = {
                "tests": len(own),
                "failures": sum(verdict.is_unexpected for verdict in own),
                "skipped": sum(verdict.verdict is not Verdict.PASSED and not verdict.is_unexpected for verdict in own),
                "errors": 0,
            }
            suite = ET.SubElement(root, "testsuite", {"name": f"{one.document.name} {subject.name}"})
            for name, count in counts.items():
                suite.set(name, str(count))
            for verdict in own:
                case = ET.SubElement(
                    suite, "testcase", classname=f"{one.document.name}.{subject.name}", name=verdict.case.name
                )
                _judged(case, verdict)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _judged(case: ET.Element, own: CaseVerdict) -> None:
    if own.verdict is Verdict.PASSED:
        return
    if own.is_unexpected:
        failure = ET.SubElement(case, "failure", message=own.reason)
        if own.deviation is not None:
            failure.text = f"expected: {own.deviation.expected}\nseen: {own.deviation.seen}"
        return
    why = f"known deviation: {own.known} ({own.reason})" if own.known else own.reason
    ET.SubElement(case, "skipped", message=f"{own.verdict}: {why}")


def as_json(found: Sequence[Examination]) -> dict[str, Any]:
    """Return the verdicts as JSON has them."""
    return {
        "passed": all(one.is_passed for one in found),
        "cases": [
            {
                "case": own.case.name,
                "title": own.case.title,
                "section": own.case.section,
                "source": one.document.source,
                "subject": own.subject.name,
                "verdict": own.verdict.value,
                "reason": own.reason,
                "known": own.known,
                "runs_by_verdict": {verdict.value: count for verdict, count in own.by_run.items()},
                "expectations": [_outcome(outcome) for outcome in own.outcomes],
                "runs": [run.label for run in own.runs],
            }
            for one in found
            for own in one.verdicts
        ],
    }


def _outcome(own: Outcome) -> dict[str, Any]:
    return {
        "says": own.expectation.says,
        "section": own.expectation.section,
        "precondition": own.expectation.precondition,
        "asked": own.expectation.text,
        "verdict": own.verdict.value,
        "steps": own.steps,
        "reason": own.reason,
        "deviation": None
        if own.deviation is None
        else {"at_s": own.deviation.at_s, "expected": own.deviation.expected, "seen": own.deviation.seen},
    }
