"""What a notebook does: experiments by name or built, results as frames, figures, progress."""

import io
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import sojourn
from by_hand import exported
from sojourn.core.store import Folder
from sojourn.errors import ExperimentError, UsageError
from sojourn.runner import progress


@pytest.fixture(scope="module")
def experiment() -> sojourn.Experiment:
    return sojourn.Experiment.dumbbell(
        rate="10mbit",
        qdisc={"codel": "codel ecn", "fifo": "pfifo limit 50"},
        rtt=["10ms", "20ms"],
        flows=["cubic", {"cc": "cubic", "start": "1s"}],
        duration="3s",
        seeds=2,
        name="notes",
        ping=False,
    )


@pytest.fixture(scope="module")
def results(experiment: sojourn.Experiment) -> sojourn.Results:
    return experiment.run(threads=2)


# --- experiments --------------------------------------------------------------------------------------------------


def test_a_suite_is_loaded_by_its_name() -> None:
    by_name = sojourn.load("l4s-tests/s6", seeds=1)
    by_file = sojourn.load(Path(sojourn.__file__).parent / "suites" / "l4s-tests" / "s6.toml", seeds=1)
    assert [key.digest for key in by_name.run_keys] == [key.digest for key in by_file.run_keys]
    # A suite of one experiment is that experiment.
    assert sojourn.load("rtt-independence", seeds=1).name == "rtt-independence/steps"


@pytest.mark.parametrize(
    ("name", "said", "helped"),
    [
        ("l4s-test/s6", 'there is no suite or file "l4s-test/s6"', 'did you mean "l4s-tests/s6"?'),
        ("l4s-tests/s66", 'there is no scenario "l4s-tests/s66"', 'did you mean "l4s-tests/s6"?'),
        ("l4s-tests", "l4s-tests is 20 experiments", "name one of them: l4s-tests/s1, "),
        ("none.toml", "there is no file none.toml", ""),
    ],
)
def test_a_name_that_is_not_there_is_named_with_the_nearest(name: str, said: str, helped: str) -> None:
    with pytest.raises(UsageError) as raised:
        sojourn.load(name)
    assert raised.value.message == said
    assert (raised.value.help or "").startswith(helped)


def test_a_batch_file_says_what_reads_it(tmp_path: Path) -> None:
    (tmp_path / "a.batch").write_text("")
    with pytest.raises(UsageError, match=r"sojourn\.interop\.batch\.load"):
        sojourn.load(str(tmp_path / "a.batch"))


def test_every_experiment_that_comes_along_is_listed() -> None:
    found = sojourn.suites()
    folder = Path(sojourn.__file__).parent / "suites"
    assert set(found) == {f"{file.parent.name}/{file.stem}" for file in folder.glob("*/*.toml")}
    assert all(found.values())


def test_a_dumbbell_varies_what_is_a_list(experiment: sojourn.Experiment) -> None:
    assert experiment.axes == {"rtt": ["10ms", "20ms"], "qdisc": ["codel", "fifo"]}
    assert len(experiment.run_keys) == 8
    first = experiment.run_keys[0].scenario
    assert [flow["name"] for flow in first["flows"]] == ["cubic-1", "cubic-2"]
    queues = [e["qdisc"] for e in first["hops"][0]["down"] if e["kind"] == "queue"]
    assert [q.split()[0] for q in queues] == ["codel"]


def test_a_dumbbell_takes_what_else_the_language_says() -> None:
    made = sojourn.Experiment.dumbbell(
        flows="reno",
        duration="5s",
        stack="linux-5.4",
        axis={"ecn": {"on": {"flow.reno.ecn": "rfc3168"}, "off": {"flow.reno.ecn": "off"}}},
        event=[{"name": "slower", "at": "2s", "hop": "bottleneck", "rate": "5mbit"}],
    )
    assert made.axes == {"ecn": ["on", "off"]}
    assert {key.scenario["stack"] for key in made.run_keys} == {"linux-5.4"}
    assert all(key.scenario["events"] for key in made.run_keys)


def test_a_built_experiment_is_the_same_as_its_file(experiment: sojourn.Experiment) -> None:
    read = sojourn.parse(experiment.toml(), "again.toml")
    assert [key.digest for key in read.run_keys] == [key.digest for key in experiment.run_keys]
    assert tomllib.loads(experiment.toml())["hop"] == [{"name": "bottleneck", "rate": "10mbit"}]


def test_every_suite_can_be_built_from_what_its_file_says() -> None:
    folder = Path(sojourn.__file__).parent / "suites"
    for file in sorted(folder.glob("*/*.toml")):
        tree = tomllib.loads(file.read_text())
        built = sojourn.Experiment.build(**{**tree, "experiment": {**tree["experiment"], "seeds": 1}})
        read = sojourn.load(file, seeds=1)
        assert [key.digest for key in built.run_keys] == [key.digest for key in read.run_keys], file


def test_mistakes_in_a_built_experiment_have_their_place() -> None:
    hop, flow = {"name": "b", "rat": "10mbit"}, {"name": "f", "cc": "cubic"}
    with pytest.raises(ExperimentError) as raised:
        sojourn.Experiment.build(name="x", duration="10s", hop=[hop], flow=[flow])
    assert str(raised.value).splitlines()[:4] == [
        'unknown key "rat" in [[hop]]',
        "  --> <built>:7:1",
        "   |",
        ' 7 | rat = "10mbit"',
    ]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"nam": "x"}, 'there is no section or setting of an experiment "nam"'),
        ({"name": object()}, "experiment.name is object, which an experiment file cannot say"),
        ({"experiment": 3}, "experiment is a mapping of settings, not int"),
        (
            {"name": "x", "axis": {"a": {"b": {"let.x": 1, "let.x.y": 2}}}},
            '"let.x.y" is a setting of "x", which has a value already',
        ),
    ],
)
def test_what_no_file_can_say_is_named(said: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        sojourn.Experiment.build(**said)
    assert raised.value.message == message


def test_settings_next_to_a_file_stand_above_it(tmp_path: Path, experiment: sojourn.Experiment) -> None:
    read = sojourn.parse(experiment.toml(), "x", settings=["hop.bottleneck.rate=5mbit"], seeds=1)
    assert read.toml().splitlines()[:3] == [
        "# set outside this file: hop.bottleneck.rate=5mbit",
        "# set outside this file: seeds=1",
        "[experiment]",
    ]
    (run, *_) = read.only(rtt="10ms", qdisc="fifo").run(tmp_path / "r")
    assert run.record is not None
    stored = sojourn.load(exported(run.record, tmp_path / "one"))
    with pytest.raises(UsageError, match="was not read from an experiment file"):
        stored.toml()


def test_some_cells_alone(experiment: sojourn.Experiment) -> None:
    assert experiment.only(qdisc="fifo").axes == {"rtt": ["10ms", "20ms"], "qdisc": ["fifo"]}
    assert experiment.only(rtt=["10ms", "20ms"], qdisc="codel").cells == ["10ms, codel", "20ms, codel"]
    with pytest.raises(UsageError, match=r'did you mean "codel"\?'):
        experiment.only(qdisc="coddel")


def test_an_experiment_is_shown_short(experiment: sojourn.Experiment) -> None:
    assert repr(experiment) == "<Experiment notes: 4 cells, 8 runs on sim>"
    page = experiment._repr_html_()
    assert "10ms, 20ms" in page
    assert "codel, fifo" in page
    assert "&lt;b&gt;" in sojourn.Experiment.dumbbell(about="<b>")._repr_html_()


# --- results ------------------------------------------------------------------------------------------------------


def test_results_are_a_sequence_of_runs(results: sojourn.Results) -> None:
    assert len(results) == 8
    assert results[0].label == "notes[10ms,codel]#1"
    assert [run.seed for run in results[:2]] == [1, 2]
    assert isinstance(results[:2], sojourn.Results)
    assert isinstance(results, Sequence)
    assert len(results + results[:1]) == 9
    assert repr(results) == "<Results: 8 runs in 4 cells on sim>"
    assert repr(results[0]) == "<Run notes[10ms,codel]#1 on sim: 2 flows, 3 s>"
    assert repr(sojourn.Results([])) == "<Results: 0 runs in 0 cells>"


def test_a_frame_has_every_run_with_its_axes(results: sojourn.Results) -> None:
    frame = results.frame("flows")
    assert frame.columns[:5] == ["rtt", "qdisc", "cell", "seed", "engine"]
    limits = [name for name in results[0].table("limits").columns if name not in {"t_s", "flow"}]
    assert frame.columns[5:] == [*results[0].flows.columns, *limits]
    assert frame.height == sum(run.flows.height for run in results)
    own = frame.filter((pl.col("cell") == "notes[20ms,fifo]") & (pl.col("seed") == 2))
    run = results.select("rtt=20ms,qdisc=fifo", seed="2")[0]
    assert own.select(run.flows.columns).equals(run.flows)
    assert own.select("rtt", "qdisc", "engine").unique().rows() == [("20ms", "fifo", "sim")]
    with pytest.raises(UsageError, match=r'did you mean "flows"\?'):
        results.frame("flow")


def test_an_axis_with_a_columns_name_is_distinguished() -> None:
    queues = {name: {"hop.bottleneck.qdisc": name} for name in ("codel", "pfifo")}
    made = sojourn.Experiment.dumbbell(duration="1s", axis={"queue": queues}).run()
    frame = made.frame("queues")
    assert set(frame["axis.queue"].unique()) == {"codel", "pfifo"}
    assert set(frame["queue"].unique()) == {"bottleneck.down.qdisc", "bottleneck.up.qdisc"}
    assert "queue" in made.frame("flows").columns


def test_a_metric_of_every_run(results: sojourn.Results) -> None:
    frame = results.metric("jain(goodput)")
    assert frame.columns == ["rtt", "qdisc", "cell", "seed", "engine", "value", "window_s"]
    assert frame.height == 8
    by_hand = {(run.label.split("#")[0], run.seed): run.metric("jain(goodput)") for run in results}
    assert {(cell, seed): value for cell, seed, value in frame.select("cell", "seed", "value").rows()} == by_hand
    by_flow = results.metric("goodput({flow})")
    assert by_flow.height == 16
    assert set(by_flow["of"]) == {"cubic-1", "cubic-2"}
    # It joins with a frame: the labels are of the same types.
    assert frame.join(results.frame("totals"), on=["cell", "seed", "engine"]).height > 0
    with pytest.raises(UsageError, match="goodpu"):
        results.metric("jain(goodpu)")


def test_a_metric_that_was_not_recorded_says_what_to_write() -> None:
    flow = {"cc": "cubic", "delays": False}
    made = sojourn.Experiment.dumbbell(flows=[flow], duration="2s").run()
    with pytest.raises(UsageError, match=r"delays = true"):
        made.metric("p99(pdv, cubic)")


def test_the_summary_has_the_usual_metrics(results: sojourn.Results) -> None:
    summary = results.summary()
    assert summary.columns[-6:] == ["metric", "mean", "low", "high", "seeds", "window_s"]
    assert set(summary["seeds"]) == {2}


def test_a_notebook_shows_axes_and_a_table(results: sojourn.Results) -> None:
    page = results._repr_html_()
    assert "8 runs in 4 cells on sim" in page
    assert "codel, fifo" in page
    assert page.count("<tr><td") == 2 + 4
    assert "more cells" not in page


def test_a_frame_of_pandas_needs_no_pyarrow(results: sojourn.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    theirs, ours = results.to_pandas("flows"), results.frame("flows")
    assert list(theirs.columns) == ours.columns
    assert theirs["goodput_bps"].tolist() == ours["goodput_bps"].to_list()
    assert theirs["qdisc"].tolist() == ours["qdisc"].to_list()
    assert str(theirs["qdisc"].dtype) == "category"
    assert theirs["cwnd"].sum() == ours["cwnd"].sum()


def test_without_pandas_it_says_what_to_install(results: sojourn.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pip install pandas; pyarrow is not needed"):
        results.to_pandas("flows")


def test_a_folder_is_opened_again(tmp_path: Path, experiment: sojourn.Experiment, results: sojourn.Results) -> None:
    experiment.run(tmp_path / "r")
    for read in (sojourn.open(tmp_path / "r"), sojourn.Results.open(tmp_path / "r"), sojourn.results(tmp_path / "r")):
        assert isinstance(read, sojourn.Results)
        assert {run.label for run in read} == {run.label for run in results}
    assert sojourn.open(tmp_path / "r").metric("sum(goodput)").equals(results.metric("sum(goodput)"))


# --- figures ------------------------------------------------------------------------------------------------------


def test_runs_are_drawn(tmp_path: Path, results: sojourn.Results) -> None:
    drawn = results.plot("fairness", x="rtt", rate="goodput")
    assert set(drawn.data["qdisc"]) == {"codel", "fifo"}
    assert drawn._repr_html_().startswith("<figure")
    assert drawn.caption in repr(drawn)
    assert results[0].plot().data.equals(results[0].plot("delivery").data)
    svg, csv = sojourn.figures.kind("delays").draw(results[:1]).write(tmp_path, "c")
    assert svg.exists()
    assert csv.exists()
    with pytest.raises(UsageError, match=r'did you mean "fairness"\?'):
        results.plot("fairnes")
    with pytest.raises(UsageError, match="there is no option of fairness"):
        results.plot("fairness", y="rtt")


def test_lines_are_any_columns_over_time(results: sojourn.Results) -> None:
    one = results.select(rtt="10ms", qdisc="codel")
    data = one.plot("timeseries", column=["cwnd", "srtt_s"], step=1).data
    assert set(data["quantity"]) == {"Congestion window (packets)", "Smoothed RTT (ms)"}
    assert set(data["of"]) == {"cubic-1", "cubic-2"}
    means = [
        run.flows.filter((pl.col("flow") == "cubic-1") & (pl.col("t_s") > 1) & (pl.col("t_s") <= 2 + 1e-6))[
            "cwnd"
        ].mean()
        for run in one
    ]
    (row,) = data.filter(
        (pl.col("of") == "cubic-1") & (pl.col("quantity") == "Congestion window (packets)") & (pl.col("t_s") == 1.5)
    ).rows(named=True)
    assert row["value"] == pytest.approx(means[0])
    assert [row["low"], row["high"]] == pytest.approx(sorted(float(str(mean)) for mean in means))
    queues = one.plot("timeseries", column="drops", table="queues").data
    assert set(queues["of"]) == {"bottleneck.down.qdisc", "bottleneck.up.qdisc"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"column": "cwn"}, r'did you mean "cwnd"\?'),
        ({"column": "state"}, 'there is no column of numbers in flows "state"'),
        ({"column": ""}, "timeseries needs a column"),
        ({"table": "flow"}, r'did you mean "flows"\?'),
        ({"table": "totals", "column": "value"}, "the table totals is not over time"),
    ],
)
def test_lines_of_what_is_not_there(results: sojourn.Results, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        results[0].plot("timeseries", **options)


def test_every_figure_that_can_be_drawn(results: sojourn.Results) -> None:
    drawn = results[0].figures()
    assert {"delivery", "timeseries", "fairness", "queue-delay", "delays"} <= set(drawn)
    # There is no second set, and no controller that marks.
    assert "overlay" not in drawn
    assert drawn._repr_html_().count("<figure") == len(drawn)


# --- the front door -----------------------------------------------------------------------------------------------


def test_names_are_found_without_another_import() -> None:
    code = (
        "import sojourn; sojourn.figures.KINDS['cdf']; sojourn.errors.UsageError; sojourn.parity.METRICS; "
        "sojourn.claims.registry(); print(sojourn.__version__)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    command = subprocess.run(
        [sys.executable, "-m", "sojourn", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert command.stdout == f"sojourn {shown.stdout}"
    for name in dir(sojourn):
        assert getattr(sojourn, name) is not None, name
    with pytest.raises(AttributeError, match="has no attribute 'figure'"):
        sojourn.figure  # noqa: B018 - that it is looked for is the test


# --- progress -----------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Lend a clock that a test sets."""
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr("sojourn.runner.progress.time.monotonic", lambda: now.seconds)
    return now


class Cell:
    """A notebook's output, as IPython's display makes it."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> "Cell":
        assert raw
        assert display_id
        self.shown.append(data["text/plain"])
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(data["text/plain"])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Cell:
    cell = Cell()
    module, display = ModuleType("IPython"), ModuleType("IPython.display")
    module.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    display.display = cell.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return cell


def test_what_is_quick_shows_no_progress(clock: SimpleNamespace, notebook: Cell) -> None:
    with progress.Progress(3, 30, after=1.0, lines=False) as shown:
        clock.seconds += 0.9
        shown.simulated(20)
        shown.finished()
    assert notebook.shown == []


def test_a_notebook_has_one_line_that_is_gone_in_the_end(clock: SimpleNamespace, notebook: Cell) -> None:
    with progress.Progress(3, 30, after=1.0, lines=False) as shown:
        clock.seconds += 2
        shown.simulated(10)
        shown.finished()
        clock.seconds += 2
        shown.simulated(20)
    assert notebook.shown == ["", "0/3 runs, 33%, 5 simulated s/s, 4.0 s left", *notebook.shown[2:]]
    assert notebook.shown[2:] == ["1/3 runs, 67%, 5 simulated s/s, 2.0 s left", ""]


def test_a_terminal_has_a_bar_after_a_second(
    clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, experiment: sojourn.Experiment
) -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=100)
    monkeypatch.setattr("sojourn.runner.progress.Console", lambda **_: console)
    with progress.Progress(3, 30, after=1.0, lines=False) as shown:
        shown.simulated(1)
        assert text.getvalue() == ""
        clock.seconds += 2
        shown.finished()
    assert "1/3 runs" in text.getvalue()


def test_where_nobody_looks_nothing_is_printed(clock: SimpleNamespace, capfd: pytest.CaptureFixture[str]) -> None:
    with progress.Progress(3, 30, after=1.0, lines=False) as shown:
        clock.seconds += 60
        shown.finished()
    assert capfd.readouterr() == ("", "")
    with progress.Progress(3, 30) as shown:
        clock.seconds += 60
        shown.simulated(15)
    assert capfd.readouterr().err == "0/3 runs, 50%, 0 simulated s/s, 1 min 0 s left\n"


def test_running_watches_unless_it_is_to_be_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notebook: Cell, experiment: sojourn.Experiment
) -> None:
    monkeypatch.setattr("sojourn.experiments.experiment._PATIENCE_S", 0.0)
    one = experiment.only(rtt="10ms", qdisc="fifo")
    one.run(quiet=True)
    assert notebook.shown == []
    one.run()
    assert any("2/2 runs" in line or "1/2 runs" in line or "0/2 runs" in line for line in notebook.shown)
    notebook.shown.clear()
    one.run(tmp_path / "r")
    assert notebook.shown[-1] == ""
    with Folder.create(tmp_path / "r", version=sojourn.__version__, command="") as folder:
        assert len(folder.records()) == 2

    class Counts:
        runs = 0

        def simulated(self, seconds: float) -> None:
            pass

        def finished(self) -> None:
            self.runs += 1

    notebook.shown.clear()
    watcher = Counts()
    one.run(watcher=watcher)
    assert watcher.runs == 2
    assert notebook.shown == []


def test_a_run_in_a_notebook_is_a_small_table(results: sojourn.Results) -> None:
    run = results[0]
    shown = run._repr_html_()
    assert run.label in shown
    assert shown.count("<tr>") == 3
    rate = run.metric("goodput(cubic-1)") / 1e6
    assert f">{rate:.2f}<" in shown
    assert "measured from" in shown
    assert len(shown) < 4000


def test_a_drawing_is_written_into_a_folder_that_is_named_by_text(results: sojourn.Results, tmp_path: Path) -> None:
    picture, csv = results.plot("fairness").write(str(tmp_path), "one")
    assert picture == tmp_path / "one.svg"
    assert csv.exists()
