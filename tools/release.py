"""A release: its version everywhere, its part of the changelog, its tag, its files, their checksums and origin.

    tools/release.py 0.2.0           says what it would do, and whether anything is in the way
    tools/release.py 0.2.0 --yes     does it: a commit, an annotated tag, and in dist/ the wheels, the sdist, the bills
                                     of materials, SHA256SUMS and provenance.json

Nothing leaves the machine: who publishes pushes the tag and uploads dist/ himself. It writes:

- crates.cdx.json is the bill of materials (CycloneDX) that maturin puts into each wheel (PEP 770);
- python.cdx.json has the packages that pip installs with the wheel, playground.cdx.json npm's packages in the page;
- SHA256SUMS is the input of `sha256sum --check`;
- provenance.json is an in-toto statement (v1) with SLSA's provenance (v1): the commit, the locked dependencies, the
  command. It is not signed; a build service that signs would put its own in its place.
"""

import argparse
import datetime as dt
import hashlib
import json
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
LOCKS: Final = ("Cargo.lock", "requirements-dev.lock", "web/package-lock.json")
"""What the dependencies of a build are pinned by."""
PYTHON: Final = ROOT / ".venv" / "bin" / "python"
"""The environment that `make dist` sets up, with what reads the bills; this script may run with another."""

_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_UNRELEASED: Final = re.compile(r"(?m)^## (\S+) \(unreleased\)$")


def bumped(text: str, old: str, new: str) -> str:
    """Return a manifest with the project's own versions changed: the workspace's, and of what begins with `sojourn`."""
    own = re.compile(rf'(?m)^(version = "|sojourn[a-z-]* = "|sojourn[a-z-]* = \{{ [^\n]*version = "){re.escape(old)}"')
    return own.sub(lambda found: f'{found[1]}{new}"', text)


def dated(changelog: str, new: str, day: dt.date) -> str:
    """Return the changelog with its unreleased section as this release's.

    Raises:
        ValueError: if there is none, or it is of another version.
    """
    found = _UNRELEASED.search(changelog)
    if found is None:
        raise ValueError("CHANGELOG.md has no section `## VERSION (unreleased)`")
    if found[1] != new:
        raise ValueError(f"CHANGELOG.md's unreleased section is of {found[1]}")
    return _UNRELEASED.sub(f"## {new} ({day.isoformat()})", changelog, count=1)


def section(changelog: str, version: str) -> str:
    """Return what the changelog says of a version."""
    _, _, rest = changelog.partition(f"\n## {version} ")
    return rest.partition("\n")[2].partition("\n## ")[0].strip()


def newer(new: str, old: str) -> bool:
    """Return whether a version is above another.

    Raises:
        ValueError: if it is none.
    """
    parts = [_VERSION.fullmatch(text) for text in (new, old)]
    if parts[0] is None or parts[1] is None:
        raise ValueError(f"{new if parts[0] is None else old} is no version: write 0.2.0")
    first, second = ([int(n) for n in part.groups()] for part in parts if part is not None)
    return first > second


def sums(files: Sequence[Path]) -> Mapping[str, str]:
    """Return the SHA-256 of files by their names."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files)}


def provenance(
    subjects: Mapping[str, str], *, version: str, commit: str, locks: Mapping[str, str], built: dt.datetime
) -> dict[str, Any]:
    """Return where files come from: an in-toto statement with SLSA's provenance."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": own}} for name, own in subjects.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "make dist",
                "externalParameters": {"version": version, "command": f"tools/release.py {version} --yes"},
                "internalParameters": {},
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": commit}},
                    *({"name": name, "digest": {"sha256": own}} for name, own in locks.items()),
                ],
            },
            "runDetails": {
                "builder": {"id": "a machine of the developers; not signed"},
                "metadata": {"startedOn": built.astimezone(dt.UTC).isoformat(timespec="seconds")},
            },
        },
    }


def write_bills(wheel: Path, to: Path) -> None:
    """Write the bills of materials (CycloneDX) of a wheel for this machine: of crates, of Python, of the playground.

    pip installs into an empty environment, as for a user of this day.
    """
    with zipfile.ZipFile(wheel) as archive:
        [bill] = [name for name in archive.namelist() if name.endswith(".cyclonedx.json")]
        (to / "crates.cdx.json").write_bytes(archive.read(bill))
    with tempfile.TemporaryDirectory() as room:
        empty = Path(room) / "bin" / "python"
        pip = [str(PYTHON), "-m", "pip", "--quiet", "--python", str(empty)]
        look = [str(PYTHON), "-m", "cyclonedx_py", "environment", "--output-reproducible"]
        for command in (
            [str(PYTHON), "-m", "venv", "--without-pip", room],
            # Not the versions that the tests are pinned to.
            ["env", "--unset=PIP_CONSTRAINT", *pip, "install", str(wheel)],
            [*look, "--pyproject", "pyproject.toml", "--output-file", str(to / "python.cdx.json"), str(empty)],
        ):
            subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603
    said = subprocess.run(
        ["npm", "sbom", "--sbom-format=cyclonedx", "--package-lock-only", "--omit=dev"],  # noqa: S607
        cwd=ROOT / "web",
        check=True,
        capture_output=True,
    )
    (to / "playground.cdx.json").write_bytes(said.stdout)


def changes(root: Path, new: str, day: dt.date) -> dict[Path, str]:
    """Return the files that a release changes, with their new texts.

    Raises:
        ValueError: naming what is in the way.
    """
    manifest = (root / "Cargo.toml").read_text()
    stated = re.search(r'(?m)^version = "([^"]+)"', manifest)
    if stated is None:
        raise ValueError("Cargo.toml states no version of the workspace")
    old = stated[1]
    if not newer(new, old):
        raise ValueError(f"{new} is not above {old}")
    manifests = [root / "Cargo.toml", *sorted(root.glob("examples/*/Cargo.toml"))]
    texts = {file: bumped(file.read_text(), old, new) for file in manifests}
    page = re.compile(rf'("name": "sojourn-playground",\s+"version": "){re.escape(old)}"')
    for file in (root / "web" / "package.json", root / "web" / "package-lock.json"):
        texts[file] = page.sub(lambda found: f'{found[1]}{new}"', file.read_text())
    citation = root / "CITATION.cff"
    texts[citation] = re.sub(r"(?m)^version: .*$", f"version: {new}", citation.read_text())
    log = root / "CHANGELOG.md"
    texts[log] = dated(log.read_text(), new, day)
    return {file: text for file, text in texts.items() if text != file.read_text()}


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603, S607
    return done.stdout.strip()


def _in_the_way(version: str) -> list[str]:
    found = []
    if _git("status", "--porcelain"):
        found.append("the tree has changes that are not committed")
    if _git("branch", "--show-current") != "main":
        found.append("this is not the branch main")
    if f"v{version}" in _git("tag", "--list").split():
        found.append(f"there is a tag v{version}")
    return found


def _release(version: str, texts: Mapping[Path, str], now: dt.datetime) -> None:
    for file, text in texts.items():
        file.write_text(text)
    # The lock files of the workspace and of the packages outside it have the versions, too.
    subprocess.run(["cargo", "update", "--workspace", "--quiet"], cwd=ROOT, check=True)  # noqa: S607
    _git("commit", "--all", "--quiet", "--message", f"Release {version}")
    subprocess.run(["make", "dist"], cwd=ROOT, check=True)  # noqa: S607
    dist = ROOT / "dist"
    [wheel] = dist.glob(f"*_{platform.machine()}.whl")
    write_bills(wheel, dist)
    subjects = sums([file for file in dist.iterdir() if file.name not in {"SHA256SUMS", "provenance.json"}])
    (dist / "SHA256SUMS").write_text("".join(f"{own}  {name}\n" for name, own in subjects.items()))
    locks = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in LOCKS}
    said = provenance(subjects, version=version, commit=_git("rev-parse", "HEAD"), locks=locks, built=now)
    (dist / "provenance.json").write_text(json.dumps(said, indent=2) + "\n")
    # Last: a tag is of what was built.
    _git("tag", "--annotate", f"v{version}", "--message", section((ROOT / "CHANGELOG.md").read_text(), version))


def main() -> None:
    """Say or do what a release takes."""
    parser = argparse.ArgumentParser(description="Release a version; nothing is published.")
    parser.add_argument("version", help="such as 0.2.0; above the present one")
    parser.add_argument("--yes", action="store_true", help="do it, and do not only say what would be done")
    asked = parser.parse_args()
    now = dt.datetime.now(dt.UTC)
    try:
        texts = changes(ROOT, asked.version, now.date())
    except ValueError as error:
        sys.exit(f"error: {error}")
    found = _in_the_way(asked.version)
    if not asked.yes:
        sys.stdout.write("".join(f"changes {file.relative_to(ROOT)}\n" for file in texts))
        sys.stdout.write(f"commits `Release {asked.version}`, tags v{asked.version}, makes dist/ (make dist)\n")
        sys.stdout.write("".join(f"in the way: {one}\n" for one in found) or "nothing is in the way: say --yes\n")
        return
    if found:
        sys.exit(f"error: {'; '.join(found)}")
    before = _git("rev-parse", "--short", "HEAD")
    try:
        _release(asked.version, texts, now)
    except subprocess.CalledProcessError as error:
        back = f"`git reset --hard {before}` takes the release's changes back"
        sys.exit(f"error: `{' '.join(error.cmd)}` ended with status {error.returncode}. Nothing is tagged; {back}")
    sys.stdout.write(f"dist/ and the tag v{asked.version} are made. Nothing was published.\n")


if __name__ == "__main__":
    main()
