import base64
import hashlib
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sojourn
from by_hand import frames
from conftest import Make
from sojourn.core.store import Folder
from sojourn.errors import StoreError
from sojourn.evidence import claims
from sojourn.reporting.report import build, write
from sojourn.views.run import Run
from test_cli import sojourn as command


class Page(HTMLParser):
    """What a reader finds: tags, what they refer to, and the text."""

    VOID = frozenset({"meta", "br", "img", "link", "input", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in {"href", "src", "xlink:href"} and value:
                self.links.append(value)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def a_folder(path: Path, runs: Sequence[Run]) -> Folder:
    with Folder.create(path, version="1", command="sojourn run by-hand -o results") as folder:
        for run in runs:
            folder.add(run.key, frames(run), command="sojourn run by-hand -o results")
    return Folder.open(path)


@pytest.fixture
def pages(tmp_path: Path, make_run: Make) -> tuple[Path, Path]:
    cells = {"fifo <&>": "pfifo limit 1000", "fq": "fq_codel"}
    runs = [
        make_run((20.0 + seed, 27.0 - seed), seed=seed, qdisc=qdisc, labels={"queue": label, "rtt": "20ms"})
        for label, qdisc in cells.items()
        for seed in (1, 2, 3)
    ]
    folder = a_folder(tmp_path / "results", runs)
    return write(folder, build(folder))


def test_the_page_stands_alone_and_is_well_formed(pages: tuple[Path, Path]) -> None:
    page = Page(pages[0].read_text())
    assert not page.open
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        assert link.startswith("#"), "nothing is fetched"
        assert link[1:] in page.ids
    assert "url(http" not in pages[0].read_text()


def test_the_page_says_what_was_run_and_what_came_out(pages: tuple[Path, Path]) -> None:
    page = Page(pages[0].read_text())
    text = re.sub(r"\s+", " ", page.text)
    for said in (
        "6 runs, 2 cells of 1 scenario, 3 seeds each, run by sim.",
        "made by hand",
        "fifo <&>",
        "22.00 / 25.00",
        "21.00–23.00 / 24.00–26.00",
        "Throughput",
        "RTT",
        "rate 10Mbit",
        "pfifo limit 1000",
        "the bands span all 3 seeds",
        "sojourn run by-hand -o results",
        "--seeds 3 -o again",
    ):
        assert said in text, said


def test_the_markdown_page_has_the_same_numbers_and_its_pictures_next_to_it(pages: tuple[Path, Path]) -> None:
    markdown = pages[1].read_text()
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    assert len(rows) == 4
    assert "22.00 / 25.00 (21.00–23.00 / 24.00–26.00)" in rows[2]
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", markdown)
    assert len(pictures) == 3
    for picture in pictures:
        ET.parse(pages[1].parent / picture)  # noqa: S314 - our own file


def test_the_same_results_give_the_same_page(tmp_path: Path, pages: tuple[Path, Path]) -> None:
    before = [page.read_bytes() for page in pages]
    folder = Folder.open(tmp_path / "results")
    assert [page.read_bytes() for page in write(folder, build(folder, processes=2))] == before


def test_many_cells_stay_usable_and_are_drawn_by_several_processes(tmp_path: Path, make_run: Make) -> None:
    runs = [make_run(labels={"queue": f"q{n}"}, seconds=60) for n in range(12)]
    folder = a_folder(tmp_path / "many", runs)
    progress: list[tuple[int, int]] = []
    html, _ = write(folder, build(folder, processes=2, drawn=lambda done, of: progress.append((done, of))))
    assert progress == [(n, 12) for n in range(1, 13)]
    assert html.stat().st_size < 12 * 60_000
    titles = re.findall(r"<figcaption><b>([^<]+)", html.read_text())
    assert titles == [f"q{n}" for n in range(12)]


def test_a_folder_without_runs_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="has no finished run"):
        build(a_folder(tmp_path / "empty", []))


def test_texts_of_others_stay_texts(tmp_path: Path, make_run: Make) -> None:
    label = "<img src=x onerror=alert(1)>|two\n# three\x1b[2J\0"
    build_of = a_folder(tmp_path / "r", [make_run(labels={"queue": label})])
    page, markdown = write(build_of, build(build_of))
    text = markdown.read_text()
    assert "<img" not in text
    assert "\n# three" not in text
    assert not {"\x1b", "\0"} & set(text)
    row = next(line for line in text.splitlines() if line.startswith("| **by-hand**"))
    assert row.startswith("| **by-hand** &lt;img src=x onerror=alert(1)>\\|two # three[2J |")
    assert "<img" not in page.read_text()


def test_a_page_forbids_itself_the_network_and_every_script_but_its_own(pages: tuple[Path, Path]) -> None:
    text = pages[0].read_text()
    [policy] = re.findall(r'HTTP-EQUIV="Content-Security-Policy" content="([^"]+)"', text)
    assert "default-src 'none'" in policy
    assert "http" not in policy
    [own] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert "require-trusted-types-for 'script'" in policy
    # The others are data, which no browser runs.
    others = set(re.findall(r"<script ([^>]*)>", text))
    assert others == {'type="application/octet-stream" class="numbers"'}


def test_control_characters_in_labels_reach_no_page(tmp_path: Path, make_run: Make) -> None:
    folder = a_folder(
        tmp_path / "results", [make_run(labels={"queue": "a\x1b[31m\x00b|c"}), make_run(labels={"queue": "d"})]
    )
    control = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
    for path in (*write(folder, build(folder)), *(tmp_path / "results" / "report").glob("*.svg")):
        assert not control.search(path.read_text()), path
    shown = sojourn.open(tmp_path / "results")
    for html in (shown._repr_html_(), shown[0]._repr_html_(), shown.plot("fairness")._repr_html_()):
        assert not control.search(html)


def test_a_report_of_one_scenario_has_the_claims_on_it_and_no_others(tmp_path: Path) -> None:
    """And so has `sojourn claims`, unless all of them are asked for."""
    results = str(tmp_path / "r")

    def command(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "sojourn", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "COLUMNS": "200"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    few = (
        "--only",
        "queue=fq_codel(1q)",
        "--only",
        "rival=reno-ecn",
        "--seeds",
        "1",
        "--set",
        "experiment.duration=10s",
    )
    command("run", "l4s-tests/s6", *few, "--set", "window.steady.last=5s", "-o", results, "-q")
    assert command("report", results).split() == [f"{results}/report.md", f"{results}/report.html"]
    here = [claim.id for claim in claims.registry() if "l4s-tests/s6" in claim.experiments]
    elsewhere = [claim.id for claim in claims.registry() if claim.id not in here]
    assert here
    for page in ("report.md", "report.html"):
        text = (tmp_path / "r" / page).read_text()
        named = {own.id for own in claims.registry() if re.search(rf"\b{own.id}\b(?!\d)", text)}
        assert named == set(here), page
    shown = command("claims", results)
    assert all(re.search(rf"^{name} ", shown, re.MULTILINE) for name in here)
    assert not any(re.search(rf"^{name} ", shown, re.MULTILINE) for name in elsewhere)
    assert f"{len(elsewhere)} claims on other scenarios: --all" in shown
    every = command("claims", results, "--all")
    assert all(re.search(rf"^{name} ", every, re.MULTILINE) for name in [*here, *elsewhere])


def test_a_folder_of_summaries_has_a_report_without_pictures(tmp_path: Path) -> None:
    folder = tmp_path / "summaries"
    command("run", "l4s-tests/s7", "--seeds", "2", "--keep", "summary", "-o", str(folder), "-q", "--only", "rtt=20ms")
    command("report", str(folder))
    html, markdown = ((folder / name).read_text() for name in ("report.html", "report.md"))
    assert "The folder keeps summaries of these runs" in html
    assert "are not drawn: the folder has no tables over time of them" in html
    assert "are not drawn" in markdown
    assert not [part for part in html.split("<figure ")[1:] if "<svg" in part]


def test_a_page_of_many_cells_draws_some_and_folds_the_others(tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    file.write_text(
        '[experiment]\nname = "many"\nduration = "1s"\nping = false\n[axis.rate]\n'
        + "".join(f'"{n}mbit" = {{ hop.b.rate = "{n}mbit" }}\n' for n in range(2, 8))
        + "[axis.rtt]\n"
        + "".join(f'"{n}ms" = {{ hop.b.rtt = "{n}ms" }}\n' for n in range(10, 15))
        + '[[hop]]\nname = "b"\nqdisc = "pfifo limit 20"\n[[flow]]\nname = "f"\ncc = "reno"\n'
    )
    folder = tmp_path / "many"
    command("run", str(file), "-o", str(folder), "-q")
    command("report", str(folder))
    html = (folder / "report.html").read_text()
    drawn = [part for part in html.split("<figure ")[1:] if "<svg" in part]
    assert (len(drawn), html.count("<figure ")) == (24, 30)
    assert all(any(f"{label}" in part for part in drawn) for label in ("2mbit", "7mbit", "10ms", "14ms"))
    assert "6 of 30 cells are not drawn: --panels 30 draws all" in html
    # Every cell's command is on the page, and every link of the table leads somewhere.
    anchors = re.findall(r'<td class="text"><b class="of-scenario">[^<]*</b><a href="#([^"]+)"', html)
    assert len(anchors) == 30
    assert all(f'<figure id="{anchor}"' in html for anchor in anchors)
    assert len(list((folder / "report").glob("*.svg"))) == 24 + 1
    command("report", str(folder), "--panels", "30")
    assert "are not drawn" not in (folder / "report.html").read_text()
