"""``sojourn explore`` in Chromium: every view, the keyboard, files, a phone, hostile names, axe.

It needs the packages of ``web`` (``make web`` or ``npm ci`` there) and Chromium; ``make test-web`` runs it.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from in_pages import FEW, needs_chromium, needs_node, node, sojourn
from sojourn import _core
from sojourn.core.store import Folder

OTHER = FEW.replace('"few"', '"other"').replace("[axis.rtt]", "[axis.delay]").replace("seeds = 2", "seeds = 1")

HOSTILE = "</script><script>alert(2)</script>"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explore")
    (folder / "few.toml").write_text(FEW)
    sojourn("run", "few.toml", "-o", "r", "-q", folder=folder)
    (folder / "other.toml").write_text(OTHER)
    sojourn("run", "other.toml", "-o", "several", "-q", folder=folder)
    sojourn("run", "few.toml", "--seeds", "1", "-o", "several", "-q", folder=folder)
    sojourn("report", "r", "-t", "runs", folder=folder)
    # The language refuses such a flow; a table that somebody else wrote may have it.
    store = Folder.open(folder / "r")
    record = next(record for record in store.records() if "pfifo_20ms" in record.name)
    key, command = record.key, record.head["command"]
    tables = {name: record.table(name) for name in record.tables}
    flow = pl.col("flow").cast(pl.String)
    tables["flows"] = tables["flows"].with_columns(
        pl.when(flow == "two").then(pl.lit(HOSTILE)).otherwise(flow).cast(pl.Categorical).alias("flow")
    )
    _core.Store.remove(store.path / "segments", {record.name})
    # The run comes back with its other table before anybody reads the folder.
    with Folder.create(store.path, version=store.version, command=command) as again:
        again.add(key, tables, command=command)
    return store.path


@needs_node
@needs_chromium
def test_the_page_explores(results: Path) -> None:
    with serving(results) as address, serving(results.parent / "several") as several:
        said = node("--test", "test/explore/explore.test.mjs", timeout=600, EXPLORE=address, SEVERAL=several)
    assert "# fail 0" in said


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
