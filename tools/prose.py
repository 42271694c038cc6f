"""`make lint`: Vale's findings in pages, comments, docstrings and strings may become fewer, never more.

Vale (https://vale.sh) finds them, by the rules in `tools/vale`. It keeps no record of old findings; this file adds that
alone: `tools/prose.json` has the number that each folder may have. Old entries of the changelog are history and exempt.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
RECORD: Final = ROOT / "tools" / "prose.json"
AREAS: Final = {
    "pages": ("docs", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
    "python": ("python", "tools", "tests"),
    "rust": ("crates",),
}
SUFFIXES: Final = {".md", ".py", ".pyi", ".rs", ".toml"}


def findings(vale: str) -> dict[str, list[dict[str, Any]]]:
    """Return Vale's findings in every file that git knows, by path."""
    paths = [path for area in AREAS.values() for path in area]
    known = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603, S607
    files = [name for name in known.stdout.splitlines() if Path(name).suffix in SUFFIXES and (ROOT / name).is_file()]
    done = subprocess.run(  # noqa: S603
        [vale, "--output=JSON", "--no-exit", *files], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    if old := found.pop("CHANGELOG.md", None):
        lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
        releases = [number for number, line in enumerate(lines, 1) if line.startswith("## ")]
        newest = releases[1] if len(releases) > 1 else len(lines)
        found["CHANGELOG.md"] = [one for one in old if one["Line"] < newest]
    return {name: ones for name, ones in sorted(found.items()) if ones}


def folder(name: str) -> str:
    """Return what a file's findings count for: a crate, a package, a folder of pages, a page of the root.

    >>> folder("crates/qdisc/src/pie.rs"), folder("python/sojourn/cli/app.py"), folder("README.md")
    ('crates/qdisc', 'python/sojourn/cli', 'README.md')
    """
    parts = name.split("/")
    return "/".join(parts[: min(3 if parts[0] == "python" else 2, max(len(parts) - 1, 1))])


def main() -> int:
    """Compare with the record. `--write` lowers it; paths list all findings of the files below them."""
    vale, *words = sys.argv[1:]
    found = findings(vale)
    allowed = Counter(json.loads(RECORD.read_text(encoding="utf-8")))
    counts = Counter(folder(name) for name, ones in found.items() for _ in ones)
    more = [name for name, count in counts.items() if count > allowed[name]]
    write = words == ["--write"]
    for name, ones in found.items():
        if folder(name) in more if write or not words else name.startswith(tuple(words)):
            for one in ones:
                sys.stdout.write(f"{name}:{one['Line']}:{one['Span'][0]}: {one['Message']}\n")
    for area, paths in AREAS.items():
        now, before = (sum(n for name, n in each.items() if name.startswith(paths)) for each in (counts, allowed))
        sys.stdout.write(f"prose: {area}: {now} findings, {before} allowed\n")
    if write:
        record = {name: min(count, allowed.get(name, count)) for name, count in sorted(counts.items())}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if more:
        sys.stdout.write(f"More than tools/prose.json allows in {', '.join(more)}: rewrite the sentences above.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
