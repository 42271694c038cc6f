"""The site: the foot of its pages, its gallery, and the defects that its check finds."""

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import sojourn
from sojourn import _core
from sojourn.core.extensions import FIGURES
from sojourn.evidence.claims import registry
from test_docs import BUILT

ROOT = Path(__file__).parents[2]


def tool(name: str) -> ModuleType:
    spec = spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def footer() -> ModuleType:
    return tool("mkdocs_footer")


def test_a_page_says_when_and_of_what_it_is(footer: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footer, "dates", lambda: {"docs/truth.md": "2026-11-02"})
    monkeypatch.setattr(footer, "commit", lambda: "abc1234, 2026-11-23")
    truth = footer.foot("docs/truth.md")
    assert truth == (
        '<p class="made">Text of 2026-11-02. Site of commit abc1234, 2026-11-23, made by <code>make docs</code>.</p>'
    )
    assert "<code>python tools/gallery_pages.py docs/gallery target/gallery</code>" in footer.foot("docs/gallery/x.md")
    monkeypatch.setattr(footer, "commit", lambda: "")
    assert "by Sojourn 0." in footer.foot("docs/truth.md")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository")
def test_dates_are_those_of_git(footer: ModuleType) -> None:
    dates = footer.dates()
    assert {"README.md", "docs/index.md", "mkdocs.yml"} <= set(dates)
    assert all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", day) for day in dates.values())
    assert re.fullmatch(r"[0-9a-f]{7,}( with changes)?, \d{4}-\d{2}-\d{2}", footer.commit())


def test_what_is_said_to_write_a_page_is_there(footer: ModuleType) -> None:
    makefile = (ROOT / "Makefile").read_text()
    generated = (*BUILT, "docs/validation/")
    for source, command in footer.MADE_BY.items():
        assert source in generated or (ROOT / source).is_file(), source
        program, *words = [word for word in command.split() if "=" not in word]
        if program == "make":
            assert re.search(rf"^{words[0]}:", makefile, re.MULTILINE), command
        elif program in {"python", "pytest"}:
            assert (ROOT / words[0]).is_file(), command


def test_every_figure_of_the_gallery_is_one_that_can_be_drawn() -> None:
    figures = tool("gallery_pages").figures()
    assert len({figure.name for figure in figures}) == len(figures) >= 8
    for figure in figures:
        assert (ROOT / figure.experiment).is_file()
        kind, *options = figure.plot
        known = {option.name for option in FIGURES[kind].options}
        assert {option.partition("=")[0] for option in options} <= known
        run, plot = figure.commands
        assert run.startswith(f"sojourn run {figure.experiment} --seeds 2 ")
        assert plot.startswith(f"sojourn plot results/{Path(figure.experiment).stem} {kind} ")


def test_the_gallery_keeps_its_runs_and_leaves_nothing_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gallery = tool("gallery_pages")
    one = gallery.Figure("one", "One", "It.", "examples/experiments/home-line.toml", ["delays"], "modem=cake")
    monkeypatch.setattr(gallery, "figures", lambda: [one])
    folder, cache = tmp_path / "gallery", tmp_path / "cache"
    (cache / "home-line-000000000000").mkdir(parents=True)
    assert set(gallery.write(folder, cache)) == {"index.md", "one.md"}
    assert {path.name for path in folder.iterdir()} == {"index.md", "one.md", "one.svg", "one.csv"}
    assert "[hop]" in (folder / "one.md").read_text()
    (kept,) = cache.iterdir()
    made = {path: path.stat().st_mtime_ns for path in kept.glob("runs/*/*")}
    (folder / "old.md").write_text("")
    gallery.write(folder, cache)
    assert not (folder / "old.md").exists()
    assert {path: path.stat().st_mtime_ns for path in kept.glob("runs/*/*")} == made


def test_a_report_on_the_site_links_no_tables_of_runs() -> None:
    text, pictures = tool("mkdocs_hooks").standing_alone(
        '<a href="runs/s1-1">tables</a>, <a href="s/a=1%2C2.svg">figure</a>, <a href="#x">up</a>'
    )
    assert text == 'tables, <a href="s/a=1%2C2.svg">figure</a>, <a href="#x">up</a>'
    assert pictures == ["s/a=1,2.svg"]


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<a href="b/c.html#x">', ""),
        ('<a href="#x"><a href="https://example.org/"><img src="data:,x">', ""),
        ('<a href="nothing.html">', "leads to nothing: nothing.html"),
        ('<a href="/b/c.html">', "another place below a path"),
        ('<a href="../x.html">', "leads out of the site"),
        ('<script src="https://example.org/x.js"></script>', "<script> loads https://example.org/x.js"),
        ('<img src="//example.org/x.png">', "<img> loads"),
        ('<iframe src="gone.html">', "<iframe> leads to nothing"),
        ('<link rel="stylesheet" href="gone.css">', "<link> leads to nothing"),
        ('<link rel="canonical" href="https://example.org/a.html">', ""),
        ('<a href="b">', "leads to nothing: b"),
    ],
)
def test_what_would_not_work_elsewhere_is_found(tmp_path: Path, html: str, said: str) -> None:
    site = tmp_path / "site"
    (site / "b").mkdir(parents=True)
    (site / "b" / "c.html").write_text('<a href="../a.html">')
    (site / "a.html").write_text(html)
    (tmp_path / "x.html").write_text("")
    found = list(tool("site_check").wrong(site))
    assert len(found) == bool(said)
    assert all(said in fault for fault in found)


def test_an_empty_site_is_none(tmp_path: Path) -> None:
    assert list(tool("site_check").wrong(tmp_path)) == [f"{tmp_path} has no page"]


def test_every_table_that_a_page_asks_for_can_be_made() -> None:
    tables = tool("site_tables")
    asked = 0
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        asked += len(tables.PLACE.findall(text))
        assert "<!-- table:" not in tables.filled(text)
    assert asked >= 5


def test_the_overview_has_every_crate() -> None:
    text = tool("site_tables").filled((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    for file in (ROOT / "crates").glob("*/Cargo.toml"):
        assert f"| `crates/{file.parent.name}` | " in text


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, entry["name"])
        for kind, listed in (("disciplines", _core.qdiscs()), ("controls", _core.ccs()))
        for entry in json.loads(listed)
    ],
)
def test_every_discipline_and_control_has_a_model_and_evidence(kind: str, name: str) -> None:
    models = tool("models")
    text = models.model(kind, name)
    assert len(text.split()) > 30
    # Neither links of rustdoc nor lists that Python's Markdown would take for a paragraph.
    assert not re.search(r"\[`[^`]+`\](?!\()", text)
    assert not re.search(r"^(?!- |  |$).+\n- ", text, re.MULTILINE)
    assert re.search(r"`crates/.*`, [1-9]\d* tests:", models.evidence(kind, name))
    [key] = sojourn.parse(models.experiment(kind, name), f"{name}.toml").run_keys
    assert tool("run_here").fits(key.resolved)


def test_a_claim_with_real_tcp_is_as_good_as_its_worst_part_that_was_run() -> None:
    pages = tool("claims_pages")
    good, bad = {"verdict": "reproduced"}, {"verdict": "not reproduced"}
    assert pages.with_real_tcp([], 2) == ""
    assert pages.with_real_tcp([good, good], 2) == "reproduced"
    assert pages.with_real_tcp([good, bad], 2) == "not reproduced"
    assert pages.with_real_tcp([good], 2) == "reproduced (1 of 2 parts)"
    known = {own.id: {part.what for part in own.parts} for own in registry()}
    assert all(own["part"] in known[own["claim"]] for own in pages.rows("claims-real.csv"))


def test_pages_that_claims_and_labs_have() -> None:
    pages = tool("claims_pages")
    ours = {own["claim"]: own for own in pages.rows("claims.csv")}
    assert [claim.id for claim in registry()] == list(ours)
    assert {own["claim"] for own in pages.rows("claims-parts.csv")} == set(ours)
    text = pages.index()
    assert all(f"(claims/{name}.md)" in text for name in ours)
    reproduced = sum(own["verdict"] == "reproduced" for own in ours.values())
    assert f"Our runs reproduce {reproduced} of {len(ours)} claims" in text
    assert "sojourn lab check" in tool("labs_pages").index()


def test_a_step_of_a_walk_that_is_no_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.html").write_text('<a href="b/c.html#x">')
    (tmp_path / "b" / "c.html").write_text('<a href="../a.html">')
    check = tool("site_check")
    assert list(check.broken_walks(tmp_path, "Path: a → b/c → a")) == []
    assert list(check.broken_walks(tmp_path, "Path: b/c → b/d")) == ["the walk b/c → b/d: b/c does not link b/d"]
    assert list(check.broken_walks(tmp_path, "Path: gone → a")) == ["the walk gone → a: gone does not link a"]
