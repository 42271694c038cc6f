"""A release changes version numbers, and nothing else; its bills and checksums agree with its files."""

import datetime as dt
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import release

ROOT = Path(__file__).parents[2]
DAY = dt.date(2026, 12, 1)


def test_only_our_own_versions_are_changed() -> None:
    text = (
        '[workspace.package]\nversion = "0.1.0"\nrust-version = "1.88"\n[workspace.dependencies]\n'
        'sojourn-units = { path = "crates/units", version = "0.1.0" }\n'
        'sojourn-quic = { path = "x", version = "0.1.0", default-features = false }\n'
        'other = { version = "0.1.0" }\nsojourn-qdisc = "0.1.0"\n'
    )
    made = release.bumped(text, "0.1.0", "0.2.0")
    assert made.count("0.2.0") == 4
    assert 'other = { version = "0.1.0" }' in made


def test_of_this_tree_every_manifest_and_the_changelog_change() -> None:
    now = re.search(r'(?m)^version = "(.*)"', (ROOT / "Cargo.toml").read_text())
    new = re.search(r"(?m)^## (\S+) \(unreleased\)", (ROOT / "CHANGELOG.md").read_text())
    assert now is not None
    assert new is not None
    texts = {file.relative_to(ROOT).as_posix(): text for file, text in release.changes(ROOT, new[1], DAY).items()}
    assert {"Cargo.toml", "CITATION.cff", "CHANGELOG.md", "examples/own-aqm/Cargo.toml"} <= texts.keys()
    assert {"web/package.json", "web/package-lock.json"} <= texts.keys()
    assert texts["web/package-lock.json"].count(f'"version": "{new[1]}"') == 2
    assert f'"{now[1]}"' not in texts["Cargo.toml"]
    assert f"## {new[1]} (2026-12-01)" in texts["CHANGELOG.md"]
    assert len(release.section(texts["CHANGELOG.md"], new[1])) > 1000


@pytest.mark.parametrize(("version", "said"), [("0.0.9", "is not above"), ("2", "is no version"), ("9.9.9", "is of ")])
def test_what_is_in_the_way_is_named(version: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        release.changes(ROOT, version, DAY)


def test_sums_and_provenance_are_of_the_files(tmp_path: Path) -> None:
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(b"wheel")
    own = hashlib.sha256(b"wheel").hexdigest()
    assert release.sums([wheel]) == {"x.whl": own}
    said = release.provenance(
        release.sums([wheel]),
        version="0.2.0",
        commit="c0",
        locks={"Cargo.lock": "aa"},
        built=dt.datetime(2026, 12, 1, tzinfo=dt.UTC),
    )
    assert said["subject"] == [{"name": "x.whl", "digest": {"sha256": own}}]
    assert said["predicateType"] == "https://slsa.dev/provenance/v1"
    sources = said["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert sources == [
        {"name": "source", "digest": {"gitCommit": "c0"}},
        {"name": "Cargo.lock", "digest": {"sha256": "aa"}},
    ]


def test_without_yes_nothing_is_done() -> None:
    new = re.search(r"(?m)^## (\S+) \(unreleased\)", (ROOT / "CHANGELOG.md").read_text())
    assert new is not None
    before = (ROOT / "Cargo.toml").read_text()
    done = subprocess.run(
        [sys.executable, "tools/release.py", new[1]], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "changes Cargo.toml" in done.stdout
    assert (ROOT / "Cargo.toml").read_text() == before
