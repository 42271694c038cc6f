import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.errors import UsageError
from sojourn.linux import iproute
from sojourn.linux.build import _package, build
from sojourn.linux.kernels import cache, kernels
from sojourn.linux.needs import Need, command


def write_kernel(folder: Path, version: str, *, finished: bool = True) -> None:
    own = folder / f"{version}-12345678"
    own.mkdir(parents=True)
    (own / "linux").touch()
    told = {"version": version, "config": "12345678", "source": "a tree", "qdiscs": ["codel"], "ccs": ["cubic"]}
    (own / "kernel.json").write_text(json.dumps(told) if finished else "{")


def test_finished_kernels_are_listed_oldest_first(tmp_path: Path) -> None:
    for version in ("7.3.4", "5.10.223"):
        write_kernel(tmp_path, version)
    write_kernel(tmp_path, "6.1.1", finished=False)
    assert [(k.version, k.stack) for k in kernels(tmp_path)] == [
        ("5.10.223", "linux-5.10"),
        ("7.3.4", "linux-7.3"),
    ]


def test_the_cache_is_where_the_engine_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    write_kernel(tmp_path / "linux", "7.3.4")
    assert [k.version for k in kernels()] == ["7.3.4"]


def test_what_is_missing_comes_with_the_command_that_installs_it() -> None:
    lacking = [Need("flex", "build", "flex", lambda: False), Need("Linux", "run", "", lambda: False)]
    assert command(lacking) == "apt install flex"


def test_a_folder_that_is_no_kernel_tree_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.linux.build.missing", lambda _purposes: [])
    with pytest.raises(UsageError, match="is no kernel tree"):
        build(source=tmp_path)


def test_a_machine_without_tools_is_told_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.linux.build.missing", lambda _: [Need("flex", "build", "flex", lambda: False)])
    with pytest.raises(UsageError, match="this is missing: flex") as caught:
        build()
    assert caught.value.help == "apt install flex"


def test_a_series_that_no_package_has_is_named_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "linux-source-6.1 - Linux kernel source\nlinux-source-6.12 - the same\n"
    monkeypatch.setattr("sojourn.linux.build._output", lambda _words: listed)
    assert _package(None) == "linux-source-6.12"
    assert _package("6.1.99") == "linux-source-6.1"
    with pytest.raises(UsageError, match=r"no linux-source-7\.3") as caught:
        _package("7.3")
    assert caught.value.help is not None
    assert "there is 6.1, 6.12" in caught.value.help


def sojourn(*words: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SOJOURN_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, "-m", "sojourn", *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=120,
    )


def test_without_a_kernel_the_command_line_says_how_to_get_one(tmp_path: Path) -> None:
    tried = sojourn("try", "--engine", "linux", "cubic", cache=tmp_path)
    assert tried.returncode == 2
    assert "no kernel has been built" in tried.stderr
    assert "sojourn linux build" in tried.stderr
    assert sojourn("linux", "list", "--json", cache=tmp_path).stdout.strip() == "[]"
    told = sojourn("doctor", "--json", cache=tmp_path)
    assert told.returncode == 1
    state = json.loads(told.stdout)
    assert state["sim"]["ready"]
    assert not state["linux"]["ready"]
    assert "sojourn linux build" in state["linux"]["advice"]


def test_what_no_kernel_has_is_refused_by_name(tmp_path: Path) -> None:
    write_kernel(tmp_path / "linux", "7.3.4")
    tried = sojourn("try", "--engine", "linux", "--qdisc", "pie", "cubic", cache=tmp_path)
    assert tried.returncode == 2
    assert "qdisc pie: kernel 7.3.4 does not have it" in tried.stderr


def test_two_sources_at_once_are_refused(tmp_path: Path) -> None:
    built = sojourn("linux", "build", "--version", "7.3", "--source", str(tmp_path), cache=tmp_path)
    assert built.returncode == 2
    assert "two different sources" in built.stderr


def write_tc(file: Path, known: str) -> Path:
    """A tc that knows these disciplines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f'#!/bin/sh\ncase " {known} " in *" $6 "*) ;; *) echo "Unknown qdisc \\"$6\\"" >&2 ;; esac\nexit 1\n'
    )
    file.chmod(0o755)
    return file


def test_a_newer_tc_of_the_cache_is_asked_where_the_machines_own_does_not_know(tmp_path: Path) -> None:
    own = write_tc(tmp_path / "bin" / "tc", "codel")
    old = write_tc(tmp_path / "linux" / "tc-6.9.0" / "tc", "codel")
    new = write_tc(tmp_path / "linux" / "tc-6.18.0" / "tc", "codel dualpi2")
    assert iproute.built(tmp_path / "linux") == [new, old]
    assert iproute.unknown(["codel", "dualpi2", "bogus"], [own]) == ["dualpi2", "bogus"]
    assert iproute.unknown(["codel", "dualpi2", "bogus"], [own, new]) == ["bogus"]


def test_a_folder_that_is_no_tree_of_iproute2_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    monkeypatch.setattr("sojourn.linux.iproute.missing", lambda _purposes: [])
    with pytest.raises(UsageError, match="is no tree of iproute2"):
        iproute.build(source=tmp_path)
    assert list((tmp_path / "linux").iterdir()) == []


def test_without_debians_keys_a_tree_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    monkeypatch.setattr("sojourn.linux.iproute.missing", lambda _purposes: [])
    monkeypatch.setattr("sojourn.linux.iproute._KEYS", tmp_path / "none.gpg")
    with pytest.raises(UsageError) as caught:
        iproute.build()
    assert caught.value.help is not None
    assert "--source DIR" in caught.value.help


def test_without_a_home_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the engine, which refuses by the same words: programs are run from the cache."""
    for name in ("HOME", "SOJOURN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="HOME are not set: nothing says where kernels are") as caught:
        cache()
    assert caught.value.help == "set SOJOURN_CACHE, or HOME, to a folder of yours"
