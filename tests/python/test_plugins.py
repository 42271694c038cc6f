"""Plugins through the command line and the package; the one in C is built here."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sojourn
from by_hand import exported
from sojourn.core import listings
from sojourn.core.store import Folder
from sojourn.errors import ExperimentError, UsageError

ROOT = Path(__file__).parents[2]
EXPERIMENT = """\
[experiment]
name = "with-a-plugin"
duration = "5s"
plugins = ["./libramp.so"]
[axis.queue]
ramp = { hop.bottleneck.qdisc = "ramp high 5ms" }
codel = { hop.bottleneck.qdisc = "codel" }
[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
[[flow]]
name = "cubic"
cc = "cubic"
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in C, in one folder with an experiment that names it."""
    compiler = shutil.which("cc")
    assert compiler, "the tests need a C compiler: cc"
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "ramp.toml").write_text(EXPERIMENT)
    build(folder / "libramp.so")
    return folder / "libramp.so"


def build(library: Path, *options: str, source: str = "ramp.c") -> None:
    command = ["cc", "-shared", "-fPIC", "-O2", *options, f"-I{ROOT}/crates/plugin/include", "-o", str(library)]
    subprocess.run([*command, str(ROOT / "examples/plugin-c" / source)], check=True)


def call(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sojourn", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_an_experiment_names_it_in_its_folder_and_its_runs_can_be_made_again(library: Path, tmp_path: Path) -> None:
    done = call("run", library.parent / "ramp.toml", "-o", tmp_path / "results")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"plugin {library}: native code, which runs with your rights") == 1
    records = {record.key.label: record for record in Folder.open(tmp_path / "results").records()}
    ramp = records["with-a-plugin[ramp]#1"]
    digest = ramp.key.scenario["plugins"][0]["digest"]
    assert ramp.key.scenario["plugins"][0]["path"] == str(library)
    assert f"plugin libramp.so {digest}" in ramp.key.version
    # There already; and again from what was stored.
    assert "2 of 2 runs are in" in call("run", library.parent / "ramp.toml", "-o", tmp_path / "results").stderr
    again = call("run", exported(ramp, tmp_path / "one"), "-o", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    stored = Folder.open(tmp_path / "again").records()[0]
    assert stored.key.digest == ramp.key.digest
    assert stored.table("queue_signals").equals(ramp.table("queue_signals"))


def test_it_holds_real_packets_on_the_live_engine(library: Path, tmp_path: Path) -> None:
    if "namespaces" in (probed := call("shell", "-q", "-o", tmp_path / "probe", "--", "true")).stderr:
        pytest.skip(f"no namespaces: {probed.stderr.strip()}")
    words = ["--engine", "live", "--only", "queue=ramp", "--set", "experiment.duration=2s"]
    done = call("run", library.parent / "ramp.toml", "-o", tmp_path / "live", *words)
    assert done.returncode == 0, done.stderr
    (record,) = Folder.open(tmp_path / "live").records()
    digest = record.key.scenario["plugins"][0]["digest"]
    assert f"plugin libramp.so {digest}" in record.key.version
    assert "ramp" in set(record.table("queue_signals")["reason"])


def test_another_build_is_another_run_and_another_place_is_not(library: Path, tmp_path: Path) -> None:
    first = sojourn.load(library.parent / "ramp.toml").run_keys
    (tmp_path / "ramp.toml").write_text(EXPERIMENT)
    shutil.copy(library, tmp_path)
    assert [key.digest for key in sojourn.load(tmp_path / "ramp.toml").run_keys] == [key.digest for key in first]
    (tmp_path / "libramp.so").unlink()
    build(tmp_path / "libramp.so", "-g")
    moved = sojourn.load(tmp_path / "ramp.toml")
    assert {key.digest for key in moved.run_keys}.isdisjoint(key.digest for key in first)
    # The build that was planned with is not there any more.
    (tmp_path / "libramp.so").unlink()
    shutil.copy(library, tmp_path)
    with pytest.raises(UsageError, match="another build"):
        moved.run(quiet=True)


def test_try_and_the_lists_take_it_by_name(library: Path) -> None:
    tried = call("try", "cubic", "--duration", "2s", "--qdisc", "ramp", "--plugin", library, "--json")
    assert tried.returncode == 0, tried.stderr
    assert "native code" in tried.stderr
    shown = call("qdiscs", "ramp", "--plugin", library)
    assert shown.returncode == 0, shown.stderr
    assert "sojourn time up to which nothing is marked" in shown.stdout
    assert any(entry["name"] == "ramp" for entry in listings.qdiscs([str(library)]))
    assert not any(entry["name"] == "ramp" for entry in listings.qdiscs())


def test_a_control_is_taken_by_name(tmp_path: Path) -> None:
    library = tmp_path / "libhalve.so"
    build(library, source="halve.c")
    shown = call("ccs", "halve", "--plugin", library)
    assert shown.returncode == 0, shown.stderr
    assert "times that the window was halved" in shown.stdout
    tried = call("try", "halve", "cubic", "--duration", "5s", "--plugin", library, "--json")
    assert tried.returncode == 0, tried.stderr
    assert json.loads(tried.stdout)["queues"][0]["flows"][0]["flow"] == "halve"
    wrong = call("try", "halv", "--plugin", library)
    assert wrong.returncode == 2
    assert 'did you mean "halve"?' in wrong.stderr


EVERY_CALL = """\
[experiment]
name = "languages"
duration = "6s"
plugins = ["./libramp.so"]
[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
qdisc = "ramp high 5ms"
[[flow]]
name = "marked"
cc = "cubic"
ecn = "rfc3168"
[[flow]]
name = "dropped"
cc = "reno"
ecn = "off"
[[event]]
name = "shorten"
at = "3s"
hop = "bottleneck"
change = "ramp limit 5 low 2ms high 4ms"
"""
"""It marks, drops, and is changed with more packets than its new limit."""


def test_what_it_reports_is_named_as_of_a_built_in(library: Path, tmp_path: Path) -> None:
    """Its gauges and those of a control are metrics, its counters are totals, its reasons are those of signals."""
    build(tmp_path / "libhalve.so", source="halve.c")
    plugins = f'["{library}", "./libhalve.so"]'
    text = EVERY_CALL.replace('["./libramp.so"]', plugins).replace('"reno"', '"halve"')
    (tmp_path / "both.toml").write_text(text)
    (run,) = sojourn.load(tmp_path / "both.toml").run(tmp_path / "results")
    assert 0.0 < run.metric("mean(state.probability, bottleneck.down.qdisc) over all") < 1.0
    reductions = run.metric("max(state.reductions, dropped)")
    queue = pl.col("subject") == "bottleneck.down.qdisc"
    totals = dict(run.table("totals").filter(queue).select("name", "value").iter_rows())
    assert 0.0 < reductions <= totals["dropped"]
    assert 0.0 < totals["ramp.marked"] == totals["marked"]
    shown = call("qdiscs", "ramp", "--plugin", library).stdout
    for part in ("high", "10ms", "packets marked", "what the ramp says of the head", "ramp.c"):
        assert part in shown, shown


def tables(folder: Path) -> dict[str, pl.DataFrame]:
    """Run the experiment with the plugin of this folder."""
    (folder / "languages.toml").write_text(EVERY_CALL)
    (run,) = sojourn.load(folder / "languages.toml").run(folder / "results")
    return {name: run.table(name) for name in run.tables}


@pytest.fixture(scope="module")
def tables_of_c(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    folder = tmp_path_factory.mktemp("c")
    build(folder / "libramp.so")
    return tables(folder)


def assert_same(ours: dict[str, pl.DataFrame], theirs: dict[str, pl.DataFrame]) -> None:
    assert ours.keys() == theirs.keys()
    for name, table in ours.items():
        assert table.equals(theirs[name]), name
    signals = ours["queue_signals"].filter(pl.col("reason").is_in(["ramp", "tail"]))
    assert set(zip(signals["reason"], signals["kind"], strict=True)) >= {
        ("ramp", "mark"),
        ("ramp", "drop"),
        ("tail", "drop"),
    }


def built_by_script(language: str, folder: Path, path: str) -> dict[str, pl.DataFrame]:
    """Build an example as its script does, in a folder of its own, and run the experiment with it."""
    for file in (ROOT / "examples" / f"plugin-{language}").iterdir():
        shutil.copy(file, folder)
    script = (folder / "build.sh").read_text().replace("../../crates", f"{ROOT}/crates")
    environment = {**os.environ, "PATH": path}
    subprocess.run(["/bin/sh", "-c", script], cwd=folder, env=environment, check=True)
    return tables(folder)


def test_one_in_cpp_gives_the_bits_of_the_one_in_c(tables_of_c: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler: c++")
    assert_same(tables_of_c, built_by_script("cpp", tmp_path, os.environ["PATH"]))


def test_one_in_zig_gives_the_bits_of_the_one_in_c(tables_of_c: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    path = os.environ["PATH"]
    if shutil.which("zig") is None:
        # The compiler as a package of Python's, which brings no command.
        if importlib.util.find_spec("ziglang") is None:
            pytest.skip("there is no Zig: pip install ziglang")
        command = tmp_path / "bin" / "zig"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang "$@"\n')
        command.chmod(0o755)
        path = f"{command.parent}{os.pathsep}{path}"
    assert_same(tables_of_c, built_by_script("zig", tmp_path, path))


def test_what_is_wrong_is_named_and_the_status_is_2(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(EXPERIMENT.replace("libramp", "libnone"))
    with pytest.raises(ExperimentError) as missing:
        sojourn.load(file)
    assert (missing.value.line, missing.value.column) == (4, 12)
    assert "the plugin ./libnone.so: there is no such file" in str(missing.value)
    shutil.copy(library, tmp_path)
    for words, message in (("ramp hihg 5ms", 'did you mean "high"?'), ("ramp low 5ms high 2ms", '"low" is not below')):
        file.write_text(EXPERIMENT.replace("ramp high 5ms", words))
        with pytest.raises(ExperimentError) as wrong:
            sojourn.load(file)
        assert wrong.value.line == 6
        assert message in str(wrong.value)
    in_axis = EXPERIMENT.replace('{ hop.bottleneck.qdisc = "codel"', '{ experiment.plugins = ["a.so"]')
    file.write_text(in_axis)
    with pytest.raises(ExperimentError, match="the same for every combination"):
        sojourn.load(file)
    none = tmp_path / "none.so"
    for command in (
        ("run", library.parent / "ramp.toml", "-o", tmp_path / "no"),
        ("try", "cubic"),
        ("qdiscs",),
        ("ccs",),
    ):
        failed = call(*command, "--plugin", none)
        assert failed.returncode == 2
        assert f"the plugin {none}: there is no such file\n  help: " in failed.stderr


def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    for name in ("ramp.c", "experiment.toml", "run.sh"):
        shutil.copy(ROOT / "examples/plugin-c" / name, tmp_path)
    script = (tmp_path / "run.sh").read_text().replace("../../crates", f"{ROOT}/crates")
    script = script.replace("\nsojourn ", f"\n{sys.executable} -m sojourn ")
    command = ["/bin/sh", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "what the ramp says of the head" in done.stdout
    assert len(Folder.open(tmp_path / "results").records()) == 2


@pytest.mark.parametrize("kept", [0, 4, 63, 64, 500, 0.3, 0.9])
def test_a_library_that_is_cut_short_is_refused(library: Path, tmp_path: Path, kept: float) -> None:
    content = library.read_bytes()
    cut = tmp_path / "libcut.so"
    cut.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    done = call("try", "--plugin", cut, "--qdisc", "ramp high 5ms", "--duration", "1s", "cubic")
    # A part that holds every segment may load: it lacks the section headers, which no loader reads.
    assert done.returncode in {0, 2}, done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert "it is cut short" in done.stderr or "it cannot be loaded" in done.stderr
