"""The tools of the tree that other tests do not run."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from sojourn import _core

TOOLS = Path(__file__).parent.parent.parent / "tools"


def tool(name: str) -> ModuleType:
    """Return a script of `tools/` as a module."""
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(rate: float, peak: float) -> dict[str, float]:
    return {"packets_per_cpu_second": rate, "simulated_seconds_per_cpu_second": 1.0, "peak_rss_mb": peak}


def test_a_machine_of_half_the_speed_changes_no_ratio() -> None:
    was = {"A": row(5e6, 6.0), "H": row(4e6, 6.0)}
    now = {"A": row(2.5e6, 6.0), "H": row(2e6, 6.0)}
    lines = tool("bench_record").comparison(was, now)
    assert lines[3] == "| H | 0.800 | 0.800 | +0.0% | 6.0 | 6.0 | +0.0% |"


def test_what_got_slower_or_larger_is_pointed_at() -> None:
    was = {"A": row(5e6, 6.0), "F": row(4e6, 6.0), "H": row(4e6, 6.0)}
    now = {"A": row(5e6, 6.0), "F": row(3.6e6, 6.0), "H": row(4e6, 12.0), "I": row(1e6, 1.0)}
    lines = tool("bench_record").comparison(was, now)
    assert "look" not in lines[2]
    assert lines[3] == "| F | 0.800 | 0.720 | -10.0% | 6.0 | 6.0 | +0.0% **look** |"
    assert lines[4].endswith("+100.0% **look** |")
    assert lines[5].startswith("| I | not in the record")


def test_the_bare_loop_is_the_reference_where_both_have_it() -> None:
    bench = tool("bench_record")
    was = {"A": row(5e6, 6.0), "H": row(4e6, 6.0) | {"ratio_to_bare": 0.30}}
    now = {"A": row(5e6, 6.0), "H": row(1e6, 6.0) | {"ratio_to_bare": 0.31}}
    assert bench.ratios("H", was, now) == (0.30, 0.31)
    assert bench.ratios("H", {**was, "H": row(4e6, 6.0)}, now) == (0.8, 0.2)
    with pytest.raises(SystemExit, match="no ratio_to_bare, and there is no A in both"):
        bench.ratios("H", {"H": row(1, 1)}, {"H": row(1, 1)})


def test_the_record_is_what_the_benchmark_writes() -> None:
    bench = tool("bench_record")
    assert {"A", "H"} <= set(bench.read(bench.RECORD))


def test_a_file_that_is_no_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"A": 1}')
    with pytest.raises(SystemExit, match=r"x\.json is not what the benchmark writes"):
        tool("bench_record").read(tmp_path / "x.json")
    with pytest.raises(SystemExit, match="make bench"):
        tool("bench_record").read(tmp_path / "none.json")


def test_the_reference_has_a_page_for_all_that_the_program_lists(tmp_path: Path) -> None:
    pages = tool("reference_pages").pages(tmp_path)
    listed = {
        "disciplines": _core.qdiscs(),
        "controls": _core.ccs(),
        "elements": _core.elements(),
        "links": _core.links(),
        "applications": _core.apps(),
        "stacks": _core.stacks(),
    }
    for folder, entries in listed.items():
        for entry in json.loads(entries):
            page = pages[f"{folder}/{entry['name']}.md"]
            for part in ("options", "counters", "gauges", "switches"):
                for said in entry.get(part, []):
                    assert f"`{said['name']}" in page, (entry["name"], said["name"])
            assert f"[{entry['name']}]({entry['name']}.md)" in pages[f"{folder}/index.md"]


def test_the_reference_has_every_key_and_every_command(tmp_path: Path) -> None:
    pages = tool("reference_pages").pages(tmp_path)
    for key in ("experiment.duration", "hop[].down.rate", "flow[].cc", "hop[].element[].policer.burst", "check[].that"):
        assert f"| `{key}` |" in pages["keys.md"], key
    for command in ("sojourn run", "sojourn try", "sojourn export flent", "sojourn linux build"):
        assert f"## {command}\n" in pages["commands.md"]
    assert "`--seeds`" in pages["commands.md"]
    assert "[b]" not in pages["commands.md"]
    rows = [line for page in pages.values() for line in page.splitlines() if line.startswith("|")]
    assert not [row for row in rows if row.replace(r"\|", "").count("|") < 3]


def test_writing_the_reference_leaves_nothing_old(tmp_path: Path) -> None:
    folder = tmp_path / "reference"
    (folder / "disciplines").mkdir(parents=True)
    (folder / "disciplines" / "gone.md").write_text("old")
    reference = tool("reference_pages")
    assert reference.write(folder) == len(list(folder.rglob("*.md")))
    assert not (folder / "disciplines" / "gone.md").exists()
