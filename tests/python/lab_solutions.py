"""A solution of each lab: settings of its cases, and three checks that set them apart."""

from collections.abc import Mapping
from typing import Final

from sojourn.evidence.labs import lab

Q: Final = "hop.bottleneck.qdisc"

CASES: Final = {
    "bufferbloat": {
        "deep": f'{Q} = "pfifo limit 500"',
        "managed": f'{Q} = "fq_codel"',
    },
    "buffer-size": {
        "reno": f'flow.one.cc = "reno", {Q} = "pfifo limit 0.8bdp"',
        "cubic": f'flow.one.cc = "cubic", {Q} = "pfifo limit 0.35bdp"',
    },
    "bbr-and-cubic": {
        "bbr-wins": f'{Q} = "pfifo limit 0.5bdp"',
        "cubic-wins": f'{Q} = "pfifo limit 16bdp"',
        "even": f'{Q} = "pfifo limit 3bdp"',
    },
    "rtt-unfairness": {
        "unfair": f'{Q} = "pfifo limit 30"',
        "deep": f'{Q} = "pfifo limit 200"',
        "fair": f'{Q} = "fq_codel"',
    },
    "aqm-under-load": {
        "codel": f'{Q} = "codel"',
        "pie": f'{Q} = "pie"',
        "fq_codel": f'{Q} = "fq_codel"',
        "red": f'{Q} = "red limit 400000 min 30000 max 90000 avpkt 1500 burst 25 probability 0.1"',
    },
    "l4s-and-classic": {
        "one-queue": f'{Q} = "codel ecn"',
        "coupled": f'{Q} = "dualpi2"',
    },
    "pacing": {
        "bursts": f'{Q} = "pfifo limit 0.1bdp"',
        "paced": f'flow.one.host_qdisc = "fq", {Q} = "pfifo limit 0.1bdp"',
        "large": f'{Q} = "pfifo limit 1bdp"',
    },
    "cellular": {
        "deep": 'hop.link.down.qdisc = "pfifo limit 4000", flow.download.cc = "cubic"',
        "aqm": 'hop.link.down.qdisc = "codel", flow.download.cc = "cubic"',
        "sender": 'hop.link.down.qdisc = "pfifo limit 4000", flow.download.cc = "bbr"',
    },
}

CHECKS: Final = {
    "bufferbloat": {
        "p99(sojourn, call) > 300ms": "deep",
        "mean(queue_delay, bottleneck.down.qdisc) > 200ms": "deep",
        "p99(sojourn, call) < 20ms": "managed",
    },
    "buffer-size": {
        "mean(queue_delay, bottleneck.down.qdisc) > 10ms": "reno",
        "mean(queue_delay, bottleneck.down.qdisc) < 10ms": "cubic",
        "max(cwnd, one) < 95": "cubic",
    },
    "bbr-and-cubic": {
        "share(goodput, bbr) > 0.7": "bbr-wins",
        "share(goodput, bbr) < 0.3": "cubic-wins",
        "mean(queue_delay, bottleneck.down.qdisc) > 200ms": "cubic-wins",
    },
    "rtt-unfairness": {
        "share(goodput, near) > 0.75": "unfair",
        "mean(rtt, near) < 30ms": "fair",
        "median(rtt, near) > 60ms": "deep",
    },
    "aqm-under-load": {
        "mean(queue_delay, bottleneck.down.qdisc) < 10ms": "fq_codel",
        "mean(queue_delay, bottleneck.down.qdisc) > 11ms": "pie",
        "mean(queue_delay, bottleneck.down.qdisc) > 8ms": "codel",
    },
    "l4s-and-classic": {
        "share(goodput, prague) > 0.8": "one-queue",
        "p99(sojourn, prague) < 4ms": "coupled",
        "share(goodput, prague) < 0.75": "coupled",
    },
    "pacing": {
        "goodput(one) < 36mbit": "bursts",
        "goodput(one) > 36mbit": "paced",
        "goodput(one) > 40mbit": "large",
    },
    "cellular": {
        "p95(sojourn, download) > 1s": "deep",
        "p95(sojourn, download) < 150ms": "aqm",
        "goodput(download) < 6.5mbit": "aqm",
    },
}


def solution(name: str, cases: Mapping[str, str] | None = None, *, checks: str | None = None) -> str:
    """Return a solution's file, with other settings for these cases, and other text in place of its checks."""
    own = lab(name)
    head, axis, rest = own.start.partition("[axis.case]\n")
    _, _, rest = rest.partition("\n\n")
    settings = {**CASES[name], **(cases or {})}
    lines = "".join(f'"{case}" = {{ {text} }}\n' for case, text in settings.items())
    predicted = "".join(
        f'\n[[check]]\nthat = "{that}"\nonly = {{ case = "{case}" }}\n' for that, case in CHECKS[name].items()
    )
    return f"{head}{axis}{lines}\n{rest.rstrip()}\n{predicted if checks is None else checks}"
