"""Templates: what their functions write, what is missing, and mistakes with their lines."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from by_hand import frames
from conftest import Make
from sojourn.core.store import Folder
from sojourn.errors import ExperimentError
from sojourn.experiments import experiment as experiments
from sojourn.experiments import library
from sojourn.reporting import templates
from sojourn.reporting.templates import functions
from sojourn.reporting.templates.functions import FUNCTIONS, reference


@pytest.fixture
def folder(tmp_path: Path, make_run: Make) -> Folder:
    path = tmp_path / "results"
    with Folder.create(path, version="1", command="sojourn run by-hand -o results") as made:
        for label, qdisc in {"fifo": "pfifo limit 1000", "fq": "fq_codel"}.items():
            for seed in (1, 2):
                run = make_run((20.0 + seed, 27.0), seed=seed, qdisc=qdisc, labels={"queue": label})
                made.add(run.key, frames(run), command="sojourn run by-hand -o results")
    return Folder.open(path)


def page(folder: Folder, text: str) -> tuple[str, str]:
    """Return a template's Markdown and HTML."""
    template = folder.path / "mine" / "mine.md"
    template.parent.mkdir(exist_ok=True)
    template.write_text(text)
    made = templates.render(folder, template)
    return made.markdown.read_text(), made.html.read_text()


def experiment(folder: Folder) -> str:
    return str(folder.records()[0].key.scenario["experiment"])


def test_a_picture_is_next_to_the_markdown_with_its_data_and_inside_the_html(folder: Folder) -> None:
    name = experiment(folder)
    text, html = page(folder, f'# Mine\n\n{{{{ plot_inline("A FIFO", "{name}", "queue=fifo") }}}}\n')
    (picture,) = folder.path.glob("mine/*.svg")
    assert f"![A FIFO](mine/{picture.name})" in text
    assert picture.with_suffix(".csv").read_text().startswith("scenario,engine,queue,")
    assert "<svg" in html
    assert "<img" not in html


def test_runs_over_time_share_their_scales(tmp_path: Path, make_run: Make) -> None:
    with Folder.create(tmp_path / "two", version="1", command="by hand") as folder:
        for label, rate in (("slow", 4.0), ("fast", 45.0)):
            run = make_run((rate, 4.0), labels={"queue": label})
            folder.add(run.key, frames(run), command="by hand")
    name = experiment(folder)
    slow, fast = (f'{{{{ plot_inline("x", "{name}", "queue={queue}") }}}}\n' for queue in ("slow", "fast"))
    page(folder, slow)
    assert ">50<" not in next(folder.path.glob("mine/*slow*.svg")).read_text()
    page(folder, slow + fast)
    assert ">50<" in next(folder.path.glob("mine/*slow*.svg")).read_text()


def test_only_what_is_shown_is_drawn(folder: Folder) -> None:
    page(folder, f'{{{{ gen_table("{experiment(folder)}", plots=False) }}}}')
    assert not list(folder.path.glob("mine/*.svg"))


def test_a_table_has_a_row_a_cell_with_ranges_and_links(folder: Folder) -> None:
    text, html = page(folder, f'{{{{ gen_table("{experiment(folder)}", plots=False, columns="goodput_mbps") }}}}')
    fifo = next(line for line in text.splitlines() if line.startswith("| fifo"))
    assert "21.50 / 27.00 (21.00–22.00 / 27.00–27.00)" in fifo
    assert html.count("<tr>") == 3


def test_numbers_in_the_text(folder: Folder) -> None:
    name = experiment(folder)
    flow = folder.records()[0].key.scenario["flows"][0]["name"]
    call = f'value("delivery_rate({flow})", "{name}", "queue=fq", scale=1e-6, digits=0)'
    text, _ = page(folder, f"It got {{{{ {call} }}}} Mbit/s.")
    assert text == "It got 22 (21–22) Mbit/s."


def test_what_was_not_run_is_said_with_the_command(folder: Folder) -> None:
    text, _ = page(folder, '{{ plot_inline("x", "l4s-tests/s6", "queue=pie") }}')
    assert f"*not run: `sojourn run l4s-tests/s6 -o {folder.path}`*" in text


def test_cells_of_a_suite_that_were_not_run_are_said_with_the_command(tmp_path: Path) -> None:
    suite = library.resolve("l4s-tests/s7")[0].file
    small = experiments.load(suite, seeds=1, settings=["experiment.duration=4s", "window.steady.last=1s"])
    keys = [key for key in small.run_keys if dict(key.scenario["cell"])["rtt"] == "20ms"]
    folder = tmp_path / "some"
    dataclasses.replace(small, run_keys=keys).run(folder, threads=1)
    text, _ = page(Folder.open(folder), '{{ plot_link("x", "l4s-tests/s7", "rtt=80*") }}')
    assert f"*not run: `sojourn run l4s-tests/s7 --only rtt=80ms -o {folder}`*" in text
    with pytest.raises(ExperimentError) as caught:
        page(Folder.open(folder), '{{ plot_link("x", "l4s-tests/s7", "rtt=70ms") }}')
    assert 'no rtt among these runs "70ms"' in caught.value.message


@pytest.fixture
def disproof(tmp_path: Path) -> Folder:
    """Return a folder with runs of one suite that claims are on; they are too short to tell."""
    suite = library.resolve("fast-lane/disproof")[0].file
    path = tmp_path / "disproof"
    experiments.load(suite, seeds=1, settings=["experiment.duration=25s", "window.steady.to=24s"]).run(path, threads=1)
    return Folder.open(path)


def test_a_claim_without_runs_is_not_run(folder: Folder) -> None:
    text, _ = page(folder, '{{ verdict("OVER-1") }}\n\n{{ claims_table("FAST-") }}')
    assert text == "**not run**\n\n- not run: FAST-A, FAST-B, FAST-C, FAST-D, FAST-E, FAST-F"


def test_a_page_on_some_scenarios_has_the_claims_on_those(disproof: Folder) -> None:
    text, _ = page(disproof, '{{ claims_table("FAST- OVER-1 L4ST-1") }}')
    assert text.count("| FAST-") == 6
    assert "| OVER-1 " not in text
    assert text.endswith("- not run: OVER-1, L4ST-1")


def test_a_claims_table_names_those_who_do_as_ours(disproof: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "by others either" not in page(disproof, '{{ claims_table("FAST-") }}')[0]
    monkeypatch.setattr(functions, "not_elsewhere", lambda verdicts: [f"{verdicts[0].claim.id}: real Linux"])
    text, _ = page(disproof, '{{ claims_table("FAST-") }}')
    assert text.endswith("\n\n- FAST-A: real Linux")


def test_files_can_be_included(folder: Folder) -> None:
    (folder.path / "mine").mkdir()
    (folder.path / "mine" / "more.md").write_text("more\n")
    assert page(folder, '{{ include("more.md") }}!')[0] == "more!"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a\n{{ plot_inlin('x', 'y') }}", 2, "plot_inlin"),
        ("a\nb\n{{ gen_table('NAME', 'qeue=fifo') }}", 3, "qeue"),
        ("{{ chart_inline('x', 'pie-chart', 'NAME') }}", 1, 'no kind of figure "pie-chart"'),
        ("{% for %}", 1, "Expected"),
        ("\n{{ verdict('OVER-99') }}", 2, 'no claim "OVER-99"'),
        ("{{ plot_inline('x') }}", 1, "experiment"),
        ("{{ include('nothing.md') }}", 1, "cannot be included"),
    ],
)
def test_mistakes_have_their_line(folder: Folder, text: str, line: int, said: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        page(folder, text.replace("NAME", experiment(folder)))
    assert said in caught.value.message
    assert caught.value.line == line


@pytest.mark.parametrize("name", list(templates.published()))
def test_the_published_reports_render_even_where_nothing_was_run(folder: Folder, name: str) -> None:
    made = templates.render(folder, templates.published()[name])
    assert "*not run:" in made.markdown.read_text()
    assert made.pictures == 0
    shutil.rmtree(folder.path / name)


def test_there_is_a_template_for_each_published_body_of_work() -> None:
    assert set(templates.published()) == {"l4s-tests", "overload", "fast-lane", "sce-l4s-ect1", "sce-l4s-ect1-rerun"}


def test_the_documentation_has_the_functions_as_they_are() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reports.md").read_text()
    assert text.rstrip().endswith(reference())
    assert all(function.meaning for function in FUNCTIONS.values())
