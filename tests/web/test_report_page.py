"""Reports in Chromium: figures, tables, commands and the playground answer, and nobody's name becomes a script.

It needs the packages of ``web`` (``make web`` or ``npm ci`` there) and Chromium; ``make test-web`` runs it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import playground
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.sheet import Part, Sheet
from sojourn.plotting.draw.traces import Band, Line, Strip, Traces
from sojourn.reporting import script

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"

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
    """Return a page with a figure whose line has a hostile name."""
    line = Line(Band([0.5, 1.5, 2.5], [1.0, 2.0, 3.0]), "#0072B2", told="<b>x</b></script><script>alert(2)</script>")
    traces = Traces("it", [Strip("<i>Rate</i> (Mbit/s)", [line], Axis(0, 4, logarithmic=False))], 3.0)
    svg, numbers = Sheet([Part(traces)]).answering()
    return (
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{script.policy()}">'
        f"<title>evil</title><style>{script.style()}</style><body><header>evil</header><figure>"
        f'<div class="plot">{svg}{script.data_block(numbers)}</div></figure><script>{script.script()}</script></body>'
    )


def sojourn(*words: str | Path, folder: Path) -> None:
    command = [sys.executable, "-m", "sojourn", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    (folder / "many.toml").write_text(EXPERIMENT)
    (folder / "bars.md").write_text(TEMPLATE)
    sojourn("run", "many.toml", "-o", "r", "-q", folder=folder)
    sojourn("report", "r", "-t", "runs", "-t", "bars.md", folder=folder)
    # The language and the metrics refuse such names; a figure of somebody's numbers may have them.
    (folder / "evil.html").write_text(evil())
    return folder


@pytest.mark.skipif(
    shutil.which("node") is None or not (WEB / "node_modules").is_dir() or shutil.which("chromium") is None,
    reason="needs Node.js, Chromium, and npm ci in web",
)
def test_reports_answer(results: Path) -> None:
    page = playground.PAGE.as_uri() if playground.PAGE.is_file() else ""
    environment = {**os.environ, "REPORT": str(results / "r" / "report.html")}
    environment |= {"TEMPLATE": str(results / "r" / "bars.html"), "EVIL": str(results / "evil.html")}
    done = subprocess.run(
        [shutil.which("node") or "node", "--test", str(WEB / "test" / "report" / "report.test.mjs")],
        cwd=WEB,
        env={**environment, "PLAYGROUND": page},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    assert "# fail 0" in done.stdout
