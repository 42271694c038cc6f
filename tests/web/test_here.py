"""The button "Run it here" of the site's pages, in Chromium: it says whether a run's bits are those of the build."""

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import run_here

from in_pages import ROOT, WEB, needs_chromium, needs_node, node
from sojourn import _core

BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SCRIPTS = ("run-here.js", "run-here-module.js")
LESSON = tomllib.loads((WEB / "lessons" / "why-aqm.toml").read_text(encoding="utf-8"))["b"]


def page(block: str, folder: Path) -> Path:
    (folder / "assets").mkdir()
    for name in SCRIPTS:
        shutil.copy(BUILT / "web" / name, folder / "assets" / name)
    # As on the site: its search has another Worker on pages from a disk.
    shutil.copy(ROOT / "docs" / "assets" / "iframe-worker.js", folder / "assets" / "iframe-worker.js")
    file = folder / "page.html"
    scripts = "".join(f'<script src="assets/{name}"></script>' for name in ("iframe-worker.js", SCRIPTS[0]))
    file.write_text(f"<!doctype html><title>A page</title><body>{block}{scripts}")
    return file


def pressed(file: Path) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = json.loads(node("test/here.mjs", file))
    return said


@needs_node
@needs_chromium
def test_a_run_in_the_page_has_the_bits_of_the_build(tmp_path: Path) -> None:
    (scenario,) = _core.load(LESSON, "lesson").scenarios
    block = run_here.block({"seed 1": scenario, "seed 2": scenario.with_seed(2)}, LESSON)
    one, two = pressed(page(block, tmp_path))
    for said in (one, two):
        assert said["equal"]
        assert said["says"].startswith("✓ The same bits as the build: all ")
        assert said["tables"] == 2
        assert said["playground"] == 1


@needs_node
@needs_chromium
def test_other_bits_and_what_does_not_run_are_said(tmp_path: Path) -> None:
    (scenario,) = _core.load(LESSON, "lesson").scenarios
    block = run_here.block({"own": scenario})
    # The digest of another seed's flows, and a scenario that no engine reads.
    (right,) = run_here.digests([scenario])
    (other,) = run_here.digests([scenario.with_seed(2)])
    assert right["flows"] != other["flows"]
    wrong = block.replace(right["flows"], other["flows"])
    broken = block.replace("&quot;linux-7.3&quot;", "&quot;linux-0.1&quot;")
    differs, fails = pressed(page(wrong + broken, tmp_path))
    assert not differs["equal"]
    assert "These tables differ from those of the build" in differs["says"]
    assert differs["says"].partition("): ")[2].startswith("flows.")
    assert not fails["equal"]
    assert fails["says"].startswith("It does not run here: ")


def test_a_page_offers_only_what_it_can_run() -> None:
    assert len(run_here.of_suite("links/cellular")) == run_here.CELLS
    # Pages have no QUIC.
    assert run_here.of_suite("quic/alone") == {}
