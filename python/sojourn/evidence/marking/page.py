"""An examination in words, as JSON, and as a figure of the curve."""

from typing import Any

from sojourn.evidence.conformance import Verdict
from sojourn.evidence.marking.examine import Examination


def lines(own: Examination, *, details: bool) -> list[str]:
    """Return the verdicts, with every comparison of a case that failed, or of all."""
    judged = "" if own.law == own.qdisc else f", judged by the law of {own.law}"
    numbers = ", ".join(f"{name} {value:g}" for name, value in own.parameters.numbers.items())
    text = [f"{own.qdisc}{judged}", f"  {numbers} (s, bytes, packets)"]
    for one in own.outcomes:
        text.append(f"{one.verdict:14} {one.case.name:10} {one.case.about} ({one.case.source})")
        if one.reason:
            text.append(f"{'':25} {one.reason}")
        for finding in one.findings:
            if details or not finding.holds:
                mark = "ok" if finding.holds else "NO"
                text.append(f"{'':14} {mark} {finding.what}: {finding.expected}; seen: {finding.seen or 'as expected'}")
    passed = sum(one.verdict is Verdict.PASSED for one in own.outcomes)
    failed = sum(one.verdict is Verdict.FAILED for one in own.outcomes)
    text.append(f"{passed} passed, {failed} failed, {len(own.outcomes) - passed - failed} without a verdict")
    return text


def as_json(own: Examination) -> dict[str, Any]:
    """Return it for pipelines; the cases as those of other documents are."""
    return {
        "document": "marking",
        "qdisc": own.qdisc,
        "law": own.law,
        "parameters": dict(own.parameters.numbers),
        "flags": sorted(own.parameters.flags),
        "passed": own.is_passed,
        "cases": [
            {
                "case": f"marking/{own.parameters.discipline}-{one.case.name}",
                "subject": own.qdisc,
                "verdict": str(one.verdict),
                "about": one.case.about,
                "source": one.case.source,
                "reason": one.reason,
                "runs": len(one.runs),
                "findings": [
                    {"what": f.what, "expected": f.expected, "seen": f.seen, "holds": f.holds} for f in one.findings
                ],
            }
            for one in own.outcomes
        ],
        "curve": curve(own),
    }


def curve(own: Examination, bins: int = 24) -> list[dict[str, float]]:
    """Return the marking curve of the first ramp: by length and delay of the queue, the share that was signalled."""
    ramp = next((one for one in own.outcomes if one.case.name in {"curve", "law", "step"} and one.runs), None)
    if ramp is None:
        return []
    longest = max(float(run.bytes.max()) for run in ramp.runs)
    found = []
    for index in range(bins):
        low, high = longest * index / bins, longest * (index + 1) / bins
        came = signalled = waited = 0.0
        for run in ramp.runs:
            where = (run.bytes > low) & (run.bytes <= high)
            came += float(run.left[where].sum())
            signalled += float(run.signals[where].sum())
            waited += float((run.delay * run.left)[where].sum())
        if came > 0:
            found.append({"bytes": (low + high) / 2, "delay_s": waited / came, "signalled": signalled / came})
    return found
