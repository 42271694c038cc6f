import ast
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

import sojourn
from sojourn import _core
from sojourn.cli.options import Keep
from sojourn.errors import ExperimentError, RunError, SojournError, StoreError, UsageError

TEXT = """
[experiment]
name = "api"
duration = "6s"
seeds = [3, 4]
[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
qdisc = "fq_codel"
[[flow]]
name = "cubic"
cc = "cubic"
"""


@pytest.fixture
def experiment() -> sojourn.Experiment:
    return sojourn.parse(TEXT, "api.toml")


def test_an_experiment_is_what_its_text_says(experiment: sojourn.Experiment) -> None:
    assert experiment.name == "api"
    assert [key.label for key in experiment.run_keys] == ["api#3", "api#4"]
    assert experiment.seconds == 22.0
    assert experiment.cells == [""]


def test_runs_in_memory_have_their_tables_as_frames(experiment: sojourn.Experiment) -> None:
    first, second = experiment.run(threads=2)
    assert (first.seed, second.seed) == (3, 4)
    assert isinstance(first.flows, pl.DataFrame)
    assert first.flows["flow"].unique().to_list() == ["cubic"]
    assert set(first.queues["queue"].unique().to_list()) == {"bottleneck.down.qdisc", "bottleneck.up.qdisc"}
    assert not any(rtt < 0.02 for rtt in first.pings["rtt_s"])  # NaN is a lost one
    assert first.metric("utilisation(bottleneck.down.qdisc)") > 0.9
    assert not first.flows.equals(second.flows)


def test_stored_runs_are_the_same_as_fresh_ones(tmp_path: Path, experiment: sojourn.Experiment) -> None:
    fresh = experiment.run()
    stored = experiment.run(tmp_path / "results")
    read = sojourn.results(tmp_path / "results")
    for a, b, c in zip(fresh, stored, read, strict=True):
        assert a.label == b.label == c.label
        # tc's output is stored as text next to the tables.
        assert set(a.tables) - {"tc"} == set(b.tables) == set(c.tables)
        for name in c.tables:
            assert a.table(name).equals(b.table(name))
            assert a.table(name).equals(c.table(name))
        for metric in ("delivery_rate(cubic)", "mean(rtt, cubic)", "p99(sojourn, bottleneck.down.qdisc)"):
            assert a.metric(metric) == c.metric(metric)


def test_delays_that_were_not_kept_say_how_to_have_them(tmp_path: Path) -> None:
    metric = "p99(pdv, cubic)"
    (kept, *_) = sojourn.parse(TEXT, "api.toml").run()
    assert kept.metric(metric) > 0.0
    assert kept.not_recorded(metric) is None
    (run, *_) = sojourn.parse(f"{TEXT}delays = false\n", "api.toml").run(tmp_path / "results")
    with pytest.raises(UsageError, match="not recorded per flow") as caught:
        run.metric(metric)
    assert caught.value.help == "write `delays = true` in its [[flow]] and run it again"
    assert run.metric("p99(sojourn, bottleneck.down.qdisc) over last 2s before 600ms") == kept.metric(
        "p99(sojourn, bottleneck.down.qdisc) over last 2s before 600ms"
    )
    # Of many asked for at once the others are not lost, and the command says what is missing.
    command = [sys.executable, "-m", "sojourn", "table", str(tmp_path / "results"), metric, "mean(rtt, cubic)"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.returncode == 0
    assert re.search(r"^ +–  0\.0", said.stdout, re.MULTILINE)
    assert "not recorded per flow" in said.stderr
    assert "`delays = true`" in said.stderr


def test_old_names_are_answered_with_the_new(experiment: sojourn.Experiment, tmp_path: Path) -> None:
    said = "`happenings` is called `events` now"
    results = experiment.run(tmp_path / "results")
    for run in (results[0], sojourn.results(tmp_path / "results")[0]):
        with pytest.raises(UsageError, match=f"^{said}$"):
            run.table("happenings")
        with pytest.raises(AttributeError, match=f"^{said}$"):
            _ = run.happenings  # type: ignore[attr-defined]
        with pytest.raises(AttributeError, match="no 'colour'"):
            _ = run.colour  # type: ignore[attr-defined]
        with pytest.raises(UsageError, match=r"^`happenings` is called"):
            run.plot("timeseries", table="happenings")
        with pytest.raises(UsageError, match=r"^`why` is called `reason` now$"):
            run.plot("timeseries", table="queue_signals", column="why")
        with pytest.raises(UsageError, match="`least_second` is called `min_1s` now") as caught:
            run.metric("least_second(rtt, cubic)")
        assert caught.value.help == "min_1s(QUANTITY, FLOW|QUEUE)"
    with pytest.raises(UsageError, match=f"^{said}$"):
        results.frame("happenings")
    with pytest.raises(UsageError, match=r"^`lead` is called `warmup` now$"):
        sojourn.Experiment.dumbbell(rate="10mbit", rtt="20ms", qdisc="fq_codel", flows="cubic", lead="1s")


def test_an_old_setting_of_the_command_line_is_answered_with_the_new(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sojourn", "run", "l4s-tests/s7", "--set", "experiment.lead=1s", "-o", "r"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "`lead` is called `warmup` now" in said.stderr
    assert "--set:1:12" in said.stderr
    assert "Traceback" not in said.stderr


def test_columns_say_what_they_are(experiment: sojourn.Experiment) -> None:
    run = experiment.run()[0]
    assert {"flows", "queues", "pings", "events", "totals"} <= set(run.tables)
    assert run.flows.schema["t_s"] == pl.Float64
    assert run.flows.schema["cwnd"] == pl.UInt64


def test_metrics_refuse_what_they_do_not_know(experiment: sojourn.Experiment) -> None:
    run = experiment.run()[0]
    with pytest.raises(UsageError, match="delivery_rat"):
        run.metric("delivery_rat(cubic)")
    with pytest.raises(UsageError, match="reno"):
        run.metric("delivery_rate(reno)")
    with pytest.raises(UsageError, match="ends at 200s, but the run lasts 6s"):
        run.metric("mean(rtt, cubic) from 100s to 200s")


def test_errors_are_one_tree_and_carry_their_place() -> None:
    assert issubclass(ExperimentError, SojournError)
    assert issubclass(RunError, SojournError)
    assert issubclass(StoreError, SojournError)
    with pytest.raises(ExperimentError) as raised:
        sojourn.parse(TEXT.replace("cc = ", "ccc = ").replace("20ms", "20mss"), "api.toml")
    mistakes = [raised.value, *raised.value.also]
    assert {(e.file, e.line) for e in mistakes} == {("api.toml", 9), ("api.toml", 13)}
    assert raised.value.source == 'rtt = "20mss"'


def test_an_error_in_a_callback_ends_the_runs_and_comes_out(experiment: sojourn.Experiment) -> None:
    class Stop(Exception):  # noqa: N818
        pass

    def fail(index: int, run: object) -> None:
        raise Stop

    scenarios = [s.resolved for s in experiment.run_keys]
    with pytest.raises(Stop):
        _core.run_many(scenarios, on_done=fail)


def test_a_scenario_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="this is not a scenario"):
        _core.Scenario("{}")


def test_a_scenario_is_parsed_once_and_can_be_sent_to_another_process() -> None:
    key, _ = sojourn.parse(TEXT, "api.toml").run_keys
    assert json.loads(key.resolved.json) == key.scenario
    assert pickle.loads(pickle.dumps(key)).resolved == key.resolved  # noqa: S301
    other = key.resolved.with_seed(9)
    assert other != key.resolved
    assert json.loads(other.json) == {**key.scenario, "seed": 9}
    again = pickle.loads(pickle.dumps(key))  # noqa: S301
    assert again == key
    assert again.digest == key.digest


def test_a_table_of_another_shape_is_refused() -> None:
    scenario = sojourn.parse(TEXT, "api.toml").run_keys[0].resolved
    good = pl.DataFrame(
        {
            "t_s": [0.2],
            "flow": ["ping"],
            "rtt_s": [0.02],
            "sequence": pl.Series([0], dtype=pl.UInt64),
            "owd_s": [0.01],
            "owd_back_s": [0.01],
            "lost": [""],
        }
    )
    for table, said in (
        (good.drop("rtt_s"), "rtt_s"),
        (good.with_columns(rtt_s=pl.lit("x")), "column rtt_s of table pings holds"),
        (good.with_columns(rtt_s=pl.lit(None, pl.Float64)), "column rtt_s of table pings holds"),
    ):
        with pytest.raises(ValueError, match=said):
            _core.Run(scenario, "sim", "1", {"pings": table})
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        _core.Run(scenario, "sim", "1", {"pings": object()})  # type: ignore[dict-item]
    empty = _core.Run(scenario, "sim", "1", {"pings": good.clear()})
    assert len(empty.table("pings")) == 0


def test_every_name_of_the_extension_is_in_its_stub_and_used() -> None:
    package = Path(sojourn.__file__).parent
    stub = ast.parse((package / "_core.pyi").read_text())
    stated = {n.name for n in stub.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and not n.name.startswith("_")}
    stated |= {n.target.id for n in stub.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    there = {name for name in dir(_core) if not name.startswith("_")}
    assert stated == there
    code = "\n".join(path.read_text() for path in package.rglob("*.py"))
    # Code uses the results of functions without their names. A test calls `sources`, Rust `live_helper`, and the site's
    # build `reference`.
    elsewhere = {"sources", "live_helper", "reference"}
    for name in there - {"Answers", "Experiment", "Netem", "Store", "Table"} - elsewhere:
        imported = rf"from sojourn\._core import .*\b{name}\b"
        assert f"_core.{name}" in code or re.search(imported, code), name


def test_a_table_is_shared_not_copied_and_outlives_its_run(experiment: sojourn.Experiment) -> None:
    table = sojourn.parse(TEXT, "api.toml").run()[0].table("queues")
    assert table.height == sojourn.parse(TEXT, "api.toml").run()[0].queues.height
    assert table["sent_packets"].to_list() == experiment.run()[0].queues["sent_packets"].to_list()


def test_importing_the_package_is_quick() -> None:
    code = "import sys, sojourn.cli.app; print({'polars', 'matplotlib', 'jinja2'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == "set()"


def test_each_engine_has_a_version_of_its_own_and_no_other_has_one() -> None:
    assert _core.engines() == ["sim", "linux", "live"]
    versions = [_core.version(name) for name in _core.engines()]
    assert versions[0] == _core.version()
    assert len({version.split("+")[1] for version in versions}) == len(versions)
    assert len({version.split("+")[0] for version in versions}) == 1
    with pytest.raises(UsageError, match='there is no engine "ns3"'):
        _core.version("ns3")


def test_the_words_of_keep_are_those_of_the_extension() -> None:
    choice, _ = get_args(get_args(Keep)[0])
    assert get_args(choice) == tuple(word for word, _ in _core.keeps())
