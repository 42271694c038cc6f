"""Writes the set `found` of `sojourn score`: for each baseline what a search found hard for it.

tools/score_found.py            # twenty searches of 72 runs: minutes
tools/score_found.py --budget 24

Four questions are asked of each of five controls: where does it use the link least, alone; where does it get least
next to CUBIC; where does it leave least to CUBIC; where do two of it share worst. The most extreme case of each
search is a cell of the set. A control that was searched has a low score here by selection; the set shows whether a
new control has the same holes.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sojourn.search import Budget, Campaign, Subject

ROOT: Final = Path(__file__).parents[1]
FILE: Final = ROOT / "python" / "sojourn" / "score" / "sets" / "found.toml"

CONTROLS: Final = ("cubic", "bbr", "bbr3", "prague", "ledbat++")
QUESTIONS: Final[Mapping[str, tuple[str, str, str]]] = {
    "idle": ("minimise", "utilisation(bottleneck.down.qdisc)", ""),
    "starved": ("minimise", "share(goodput, tested)", "flow.rival.enabled=true"),
    "harmful": ("minimise", "share(goodput, rival)", "flow.rival.enabled=true"),
    "unfair": ("minimise", "jain(goodput, tested, late)", "flow.late.enabled=true"),
}
"""Which way, what, and what is there besides the flow."""

HEAD: Final = """\
# {title}
#
# The flows of the group `tested` run the control that is scored, which `let.cc` names; `rival` is somebody else's;
# `cross` loads the path and is nobody's share. {more}

[experiment]
name     = "score/found"
source   = "tools/score_found.py"
about    = "Twenty cases that a search found hard for a baseline: idle links, starvation, harm, unfairness"
stack    = "linux-7.3"
ping     = false
duration = "15s"
sample_interval = "100ms"
keep     = "summary"
seeds    = [3]

[let]
cc    = "cubic"
frame = "1514b"
depth = 1
loss  = 0
"""

TAIL: Final = """
[[hop]]
name   = "bottleneck"
rate   = "20mbit"
rtt    = "40ms"
qdisc  = "pfifo limit ${max(4, round(depth * rate * rtt / frame))}"
shaper = "line"
down   = { netem = ["loss ${loss}%"] }

[[flow]]
name = "tested"
cc   = "${cc}"

[[flow]]
name    = "late"
enabled = false
cc      = "${cc}"
start   = "5s"
GROUP
[[flow]]
name    = "rival"
enabled = false
cc      = "cubic"

[[flow]]
name   = "cross"
on_off = { on = "500ms", off = "1s" }
udp    = { rate = "100kbit" }

[[window]]
name = "steady"
from = "3s"
to   = "15s"
"""

SEARCH: Final = """
[search]
hop.bottleneck.rate  = "2mbit..40mbit log"
hop.bottleneck.rtt   = "5ms..200ms log"
hop.bottleneck.qdisc = ["pfifo limit ${max(4, round(depth * rate * rtt / frame))}", "codel", "pie", "dualpi2"]
let.depth            = "0.1..4 log"
let.loss             = "0..1"
flow.cross.udp.rate  = "100kbit..2mbit log"
"""


def ask(control: str, question: str, budget: str) -> tuple[tuple[str, ...], float]:
    """Return the most extreme settings of a search, with what is there besides the flow, and the value.

    Each control has a seed of its own: two of them would otherwise find the same point of the first generation.
    """
    way, metric, besides = QUESTIONS[question]
    own = (f'let.cc="{control}"', *([besides] if besides else []))
    text = HEAD.format(title="The space of the searches.", more="") + TAIL.replace("GROUP\n", "\n") + SEARCH
    subject = Subject(text, "score-found.toml", "", own)
    campaign = Campaign.plan(
        subject,
        minimise=metric if way == "minimise" else None,
        maximise=metric if way == "maximise" else None,
        seed=1 + CONTROLS.index(control),
        budget=Budget.parse(budget),
        threads=2,
    )
    found = campaign.make()
    return (*own[1:], *found.best.settings), found.best.value


def bundle(settings: tuple[str, ...]) -> str:
    """Return settings as the table of a label."""
    return ", ".join(f"{path} = {value}" for path, _, value in (own.partition("=") for own in settings))


def main() -> None:
    """Search, and write the set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default="72 runs")
    said = parser.parse_args()
    lines = []
    for control in CONTROLS:
        for question, (_, metric, _) in QUESTIONS.items():
            settings, value = ask(control, question, said.budget)
            lines.append(f"# {control}: {metric} is {value:.3g}")
            name = f"{control.removesuffix('++')}-{question}"
            lines.append(f'"{name}" = {{ {bundle(settings)} }}')
            print(lines[-2])  # noqa: T201 - a script
    title = "Twenty cases that a search found hard for a baseline: above each the control, and what the search saw."
    more = "Written by tools/score_found.py; do not edit."
    text = HEAD.format(title=title, more=more) + "\n[axis.case]\n" + "\n".join(lines) + "\n"
    FILE.write_text(text + TAIL.replace("GROUP\n", 'group   = "tested"\n\n'), encoding="utf-8")


if __name__ == "__main__":
    main()
