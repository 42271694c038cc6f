"""``sojourn explore`` in Chromium: every view, the keyboard, files, a phone, hostile names, axe.

It needs the packages of ``web`` (``make web`` or ``npm ci`` there) and Chromium; ``make test-web`` runs it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from sojourn.core.store import Folder, Record, record_files
from sojourn.core.store.index import write

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"

EXPERIMENT = """[experiment]
name = "few"
duration = "2s"
seeds = 2
[axis.queue]
"pfifo" = { hop.bottleneck.qdisc = "pfifo limit 1bdp" }
"<img src=x onerror=alert(1)>" = { hop.bottleneck.qdisc = "fq_codel" }
[axis.rtt]
"80ms" = { hop.bottleneck.rtt = "80ms" }
"20ms" = { hop.bottleneck.rtt = "20ms" }
[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"
[[flow]]
name = "one"
cc = "cubic"
[[flow]]
name = "two"
cc = "reno"
[[check]]
name = "full"
that = "utilisation(bottleneck.down.qdisc) > 0.1"
"""

OTHER = EXPERIMENT.replace('"few"', '"other"').replace("[axis.rtt]", "[axis.delay]").replace("seeds = 2", "seeds = 1")

HOSTILE = "</script><script>alert(2)</script>"


def sojourn(*words: str | Path, folder: Path) -> None:
    command = [sys.executable, "-m", "sojourn", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explore")
    (folder / "few.toml").write_text(EXPERIMENT)
    sojourn("run", "few.toml", "-o", "r", "-q", folder=folder)
    (folder / "other.toml").write_text(OTHER)
    sojourn("run", "other.toml", "-o", "several", "-q", folder=folder)
    sojourn("run", "few.toml", "--seeds", "1", "-o", "several", "-q", folder=folder)
    sojourn("report", "r", "-t", "runs", folder=folder)
    # The language refuses such a flow; a table that somebody else wrote may have it.
    store = Folder.open(folder / "r")
    path = next(path for path in sorted(store.run_folders()) if "pfifo_20ms" in path.name)
    record = Record(path)
    tables = {name: record.table(name) for name in record.tables}
    flow = pl.col("flow").cast(pl.String)
    tables["flows"] = tables["flows"].with_columns(
        pl.when(flow == "two").then(pl.lit(HOSTILE)).otherwise(flow).cast(pl.Categorical).alias("flow")
    )
    for name, content in record_files(record.key, record.head["command"], tables).items():
        (path / name).write_bytes(content)
    write(store.path, store.run_folders())
    return store.path


@pytest.mark.skipif(
    shutil.which("node") is None or not (WEB / "node_modules").is_dir() or shutil.which("chromium") is None,
    reason="needs Node.js, Chromium, and npm ci in web",
)
def test_the_page_explores(results: Path) -> None:
    with serving(results) as address, serving(results.parent / "several") as several:
        done = subprocess.run(
            [shutil.which("node") or "node", "--test", str(WEB / "test" / "explore" / "explore.test.mjs")],
            cwd=WEB,
            env={**os.environ, "EXPLORE": address, "SEVERAL": several},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-12000:] + done.stderr[-4000:]
    assert "# fail 0" in done.stdout


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder, from the one that its experiments lie in; its address."""
    command = [sys.executable, "-m", "sojourn", "explore", str(folder), "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder.parent
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
