"""A run counts as current only if every source that decided it is in its version's digest."""

import json
import subprocess
from pathlib import Path

import pytest

from sojourn import _core

ROOT = Path(__file__).parents[2]
CRATES = ROOT / "crates"
BUILT = ROOT / "target" / "checked" / "lib_core.d"
"""Cargo's own list of the files that it compiled the extension from."""

ENGINES = {
    "sim": {"sojourn-sim", "sojourn-plugin-host", "sojourn-store"},
    "linux": {"sojourn-linux", "sojourn-plugin-host", "sojourn-store"},
    "live": {"sojourn-live", "sojourn-store"},
}


def hashed(engine: str) -> set[Path]:
    return {(CRATES / "python" / line).resolve() for line in _core.sources(engine) if line.startswith(".")}


def closure(roots: set[str]) -> tuple[set[str], set[str]]:
    """Return the crates of the workspace and those of others that these are built from, as cargo resolves them."""
    asked = ["cargo", "metadata", "--format-version", "1", "--offline", "--locked"]
    metadata = json.loads(subprocess.run(asked, cwd=ROOT, capture_output=True, check=True).stdout)
    names = {package["id"]: package for package in metadata["packages"]}
    own = set(metadata["workspace_members"])
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    todo = [identity for identity in own if names[identity]["name"] in roots]
    seen: set[str] = set()
    while todo:
        identity = todo.pop()
        if identity not in seen:
            seen.add(identity)
            todo += [d["pkg"] for d in nodes[identity]["deps"] if any(k["kind"] != "dev" for k in d["dep_kinds"])]
    return (
        {names[identity]["name"] for identity in seen & own},
        {f"{names[identity]['name']} {names[identity]['version']}" for identity in seen - own},
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_every_crate_below_an_engine_is_hashed(engine: str) -> None:
    own, others = closure(ENGINES[engine])
    folders = {path.relative_to(CRATES).parts[0] for path in hashed(engine) if path.is_relative_to(CRATES)}
    assert folders == {name.removeprefix("sojourn-") for name in own} | {"python"}
    listed = {" ".join(line.split()[:2]) for line in _core.sources(engine) if not line.startswith(".")}
    # Cargo.lock names the crates of every platform and feature; those resolved here are among them.
    assert others <= listed
    assert all(len(line.split()) == len(("name", "version", "checksum")) for line in _core.sources(engine)[-1:])


@pytest.mark.skipif(not BUILT.exists(), reason="the extension was not built here")
def test_every_file_that_was_compiled_is_hashed_for_its_engine() -> None:
    compiled = {Path(name).resolve() for name in BUILT.read_text().partition(": ")[2].split()}
    compiled = {path for path in compiled if path.is_file() and path.is_relative_to(CRATES)}
    assert len(compiled) > 300
    by_engine = {engine: hashed(engine) for engine in ENGINES}
    # What makes scenarios is not asked: a scenario is a part of a run's key as a whole.
    makes_scenarios = {"language", "vocabulary"}
    for path in compiled:
        crate = path.relative_to(CRATES).parts[0]
        for engine, roots in ENGINES.items():
            if f"sojourn-{crate}" in closure_names(roots):
                assert path in by_engine[engine], f"{path} decides results of {engine} and is not in its digest"
        assert any(path in files for files in by_engine.values()) or crate in makes_scenarios, path


_CLOSURES: dict[frozenset[str], set[str]] = {}


def closure_names(roots: set[str]) -> set[str]:
    key = frozenset(roots)
    if key not in _CLOSURES:
        _CLOSURES[key] = closure(roots)[0]
    return _CLOSURES[key]


@pytest.mark.parametrize(
    ("engine", "file"),
    [
        ("sim", "media/src/lib.rs"),
        ("sim", "quic/src/lib.rs"),
        ("sim", "quic/build.rs"),
        ("sim", "python/src/custom/mod.rs"),
        ("linux", "linux/guest/connections.c"),
        ("linux", "linux/guest/sockets.c"),
        ("linux", "linux/guest/agent.c"),
        ("linux", "linux/src/asked.rs"),
        ("linux", "workload/src/player.rs"),
        ("linux", "results/src/lib.rs"),
    ],
)
def test_sources_that_were_once_missed(engine: str, file: str) -> None:
    path = CRATES / file
    assert path in hashed(engine) or not path.exists()
    assert path.exists()


def test_versions_of_external_crates_count() -> None:
    listed = _core.sources("sim")
    assert any(line.startswith("quinn-proto 0.") for line in listed)
    assert any(line.startswith("noq-proto ") for line in listed)
    assert any(line.startswith("rand_pcg ") for line in listed)


def test_tests_do_not_count() -> None:
    # The second part of a path is the folder in its crate: those of unit tests lie in `src`.
    counted = {path.relative_to(CRATES).parts[1] for path in hashed("sim") if path.is_relative_to(CRATES)}
    assert not counted & {"tests", "benches", "fuzz", "examples", "proptest-regressions"}
