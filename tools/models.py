"""The parts of a page on a queue discipline or congestion control besides options: model, example, evidence.

The model is the module's own documentation in Rust, so that whoever changes the code changes the page. The evidence
lists the tests by their names, the conformance documents with their cases and the parity suites. The build draws the
figure from one run and keeps it in `target/models` by the simulator's version.
"""

import functools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import run_here

import sojourn
from sojourn import _core
from sojourn.evidence.conformance import documents

ROOT: Final = Path(__file__).parents[1]
CACHE: Final = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "models"
FOLDERS: Final = {"disciplines": "crates/qdisc/src", "controls": "crates/transport/src/cc"}
TESTS: Final = {
    "disciplines": "crates/qdisc/tests/traces",
    "controls": "crates/sim/tests/runs",
}
MOST_TESTS: Final = 15

WORDS: Final = {
    "bfifo": "bfifo limit 150000",
    "htb": "htb rate 15mbit",
    "netem": "netem delay 10ms 2ms limit 1000",
    "red": "red limit 400000 min 30000 max 90000 avpkt 1500 burst 25 probability 0.1",
    "tbf": "tbf rate 15mbit burst 10000 limit 100000",
}
"""Words of disciplines that need some; of the others the name is enough."""

STACKS: Final = dict.fromkeys(
    ("cobalt", "lfq_cobalt", "cnq_codel_af", "twin_codel_af", "cubic-sce", "reno-sce", "dctcp-sce"), "sce-2020-03"
)
"""Stacks other than the default where a discipline or a control belongs to one."""


@functools.cache
def module(kind: str, name: str) -> Path:
    """Return the file of a discipline or control: the one that registers the name, or the nearest with documentation.

    Raises:
        LookupError: if no file registers it.
    """
    folder = ROOT / FOLDERS[kind]
    pattern = re.compile(rf'^\s*name: "{re.escape(name)}",', re.MULTILINE)
    found = [file for file in sorted(folder.rglob("*.rs")) if pattern.search(file.read_text(encoding="utf-8"))]
    if not found:
        raise LookupError(f"no file below {FOLDERS[kind]} registers {name}")
    own = next((file for file in found if _documentation(file)), found[0])
    if own.parent == folder:
        return own
    # In a folder of its own the options may be in another file than the model.
    whole = own.parent.with_suffix(".rs")
    index = own.with_name("mod.rs")
    return whole if whole.is_file() else index if index.is_file() else own


def _documentation(file: Path) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    return "\n".join(line[3:].removeprefix(" ") for line in lines if line.startswith("//!")).strip()


def model(kind: str, name: str) -> str:
    """Return the module's documentation as Markdown of a page."""
    file = module(kind, name)
    law = file.with_name(f"{file.stem}_law.rs")
    text = "\n\n".join(_documentation(own) for own in (file, law) if own.is_file())
    # Links of rustdoc lead to items of the code: a page has their names.
    text = re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?", r"\1", text)
    text = re.sub(r"(?<![\w/`(])docs/([\w/-]+\.md)(#[\w.-]+)?", r"[\1](../../\1\2)", text)
    # Python's Markdown begins a list after an empty line only.
    text = re.sub(r"^((?!- |  |$).+)\n- ", r"\1\n\n- ", text, flags=re.MULTILINE)
    text = re.sub(r"^(#+) ", r"##\1 ", text, flags=re.MULTILINE)
    return f"{text}\n\n*From the module documentation of `{file.relative_to(ROOT)}`.*"


def evidence(kind: str, name: str) -> str:
    """Return what holds a discipline or control: tests by their names, conformance, parity."""
    parts = []
    for file, names in _tests(kind, name):
        shown = "\n".join(f"- {test.replace('_', ' ')}" for test in names[:MOST_TESTS])
        more = f"\n- and {len(names) - MOST_TESTS} more" if len(names) > MOST_TESTS else ""
        parts.append(f"`{file.relative_to(ROOT)}`, {len(names)} tests:\n\n{shown}{more}")
    cases = [
        f"[{own.title}](../../conformance-results.md), {len(own.cases)} cases"
        for own in documents().values()
        if name in {subject.name for subject in [*own.subjects, *own.also]}
    ]
    if cases:
        parts.append("Conformance: " + "; ".join(cases) + ".")
    suites = list(_parity(name))
    if suites:
        named = ", ".join(f"`{suite}`" for suite in suites)
        parts.append(f"[Parity with Linux](../../parity.md), cell by cell: {named}.")
    return "\n\n".join(parts) if parts else "Only the properties that tests check of all (`properties.rs`)."


def _tests(kind: str, name: str) -> Iterator[tuple[Path, list[str]]]:
    own = module(kind, name)
    stems = {own.stem if own.name != "mod.rs" else own.parent.name, name.replace("-", "_").rstrip("+")}
    if own.parent.name in {"v1", "v3"}:
        stems |= {own.parent.parent.name}
    inside = [own, *own.parent.glob("*_tests.rs"), *own.parent.glob("tests.rs")] if own.name == "mod.rs" else [own]
    inside += [own.with_name(f"{own.stem}_tests.rs")]
    files = [*inside, *(ROOT / TESTS[kind] / f"{stem}.rs" for stem in sorted(stems))]
    for file in dict.fromkeys(files):
        if file.is_file():
            names = re.findall(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn (\w+)\(", file.read_text(encoding="utf-8"))
            if names:
                yield file, names


def _parity(name: str) -> Iterator[str]:
    word = re.compile(rf'"{re.escape(name)}[" ]')
    for file in sorted((ROOT / "python/sojourn/suites/parity").glob("*.toml")):
        if word.search(file.read_text(encoding="utf-8")):
            yield f"parity/{file.stem}"


def experiment(kind: str, name: str) -> str:
    """Return the experiment of the figure, as a file."""
    stack = f'stack    = "{STACKS[name]}"\n' if name in STACKS else ""
    qdisc = WORDS.get(name, name) if kind == "disciplines" else "pfifo limit 1bdp"
    flows = ["cubic", "reno"] if kind == "disciplines" else [name]
    if name in {"dualpi2", "pi2"}:
        flows = ["prague", "cubic"]
    tables = "".join(f'\n[[flow]]\nname = "{cc.replace("+", "")}"\ncc   = "{cc}"\n' for cc in flows)
    # A discipline with a rate of its own is the shaper.
    shaper = 'shaper = "own"\n' if name in {"tbf", "htb"} else ""
    rate = "15mbit" if shaper else "20mbit"
    return f"""[experiment]
name     = "{name.replace("+", "")}"
about    = "{" and ".join(flows)} through {qdisc.split()[0]}"
duration = "30s"
{stack}
[[hop]]
name  = "bottleneck"
rate  = "{rate}"
rtt   = "40ms"
qdisc = "{qdisc}"
{shaper}{tables}"""


def figure(kind: str, name: str, folder: Path) -> str:
    """Draw the figure of a page into a folder; return its Markdown with the button that runs it in the page."""
    text = experiment(kind, name)
    kept = CACHE / _core.version("sim") / f"{kind}-{name}"
    parsed = sojourn.parse(text, f"{name}.toml")
    if not kept.with_suffix(".txt").is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        table, column = ("queues", "sojourn_mean_s") if kind == "disciplines" else ("flows", "cwnd,srtt_s")
        picture = parsed.run(quiet=True).plot("timeseries", table=table, column=column)
        picture.write(kept.parent, kept.name)
        kept.with_suffix(".txt").write_text(picture.caption)
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in (".svg", ".csv"):
        shutil.copy(kept.parent / f"{kept.name}{suffix}", folder / f"{name}{suffix}")
    caption = kept.with_suffix(".txt").read_text()
    block = run_here.block({parsed.name: parsed.run_keys[0].resolved}, text)
    return (
        f"## An example\n\n![{name}: one run]({name}.svg)\n\n{caption} [The numbers]({name}.csv)\n\n"
        f"```toml\n{text.rstrip()}\n```\n\n{block}\n"
    )
