"""Reports in Chromium: figures, tables, commands and the playground answer, and nobody's name becomes a script.

It needs the packages of ``web`` (``make web`` or ``npm ci`` there) and Chromium; ``make test-web`` runs it.
"""

from pathlib import Path

import pytest

from in_pages import needs_chromium, needs_node, node, sojourn
from sojourn import playground
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.sheet import Part, Sheet
from sojourn.plotting.draw.traces import Band, Line, Strip, Traces
from sojourn.reporting import script

EXPERIMENT = """[experiment]
name = "many"
duration = "4s"
warmup = "500ms"
seeds = 3
[axis.queue]
"pfifo" = { hop.bottleneck.qdisc = "pfifo limit 1bdp" }
"pie" = { hop.bottleneck.qdisc = "pie" }
"fq_codel" = { hop.bottleneck.qdisc = "fq_codel" }
"codel" = { hop.bottleneck.qdisc = "codel" }
"red" = { hop.bottleneck.qdisc = "red limit 400000 avpkt 1000 adaptive bandwidth 10mbit" }
"<img src=x onerror=alert(1)>" = { hop.bottleneck.qdisc = "dualpi2" }
[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"
[[flow]]
name = "EVIL"
cc = "cubic"
[[flow]]
name = "other"
cc = "reno"
start = "500ms"
[[event]]
name = "step"
at = "2s"
hop = "bottleneck"
rate = "5mbit"
"""

TEMPLATE = """# Of bars

{{ chart_inline("Goodput", "bars", "many", y="goodput({flow})") }}
"""


def evil() -> str:
    """Return a page with a figure that has a line with a hostile name."""
    line = Line(
        Band([0.5, 1.5, 2.5], [1.0, 2.0, 3.0]), "#0072B2", page_name="<b>x</b></script><script>alert(2)</script>"
    )
    traces = Traces("it", [Strip("<i>Rate</i> (Mbit/s)", [line], Axis(0, 4, logarithmic=False))], 3.0)
    svg, numbers = Sheet([Part(traces)]).answering()
    return (
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{script.policy()}">'
        f"<title>evil</title><style>{script.style()}</style><body><header>evil</header><figure>"
        f'<div class="plot">{svg}{script.data_block(numbers)}</div></figure><script>{script.script()}</script></body>'
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    (folder / "many.toml").write_text(EXPERIMENT)
    (folder / "bars.md").write_text(TEMPLATE)
    sojourn("run", "many.toml", "-o", "r", "-q", folder=folder)
    sojourn("report", "r", "-t", "runs", "-t", "bars.md", folder=folder)
    sojourn("run", "many.toml", "-o", "folded", "-q", "--keep", "summary", folder=folder)
    sojourn("report", "folded", "-t", "runs", folder=folder)
    # The language and the metrics refuse such names; a figure of somebody's numbers may have them.
    (folder / "evil.html").write_text(evil())
    return folder


@needs_node
@needs_chromium
def test_reports_answer(results: Path) -> None:
    page = playground.PAGE.as_uri() if playground.PAGE.is_file() else ""
    said = node(
        "--test",
        "test/report/report.test.mjs",
        timeout=600,
        REPORT=str(results / "r" / "report.html"),
        TEMPLATE=str(results / "r" / "bars.html"),
        EVIL=str(results / "evil.html"),
        FOLDED=str(results / "folded" / "report.html"),
        PLAYGROUND=page,
    )
    assert "# fail 0" in said
