"""Writes the pages of the course labs: `python tools/labs_pages.py docs/labs`.

Texts come from the labs of the package. The figure of each lab shows a solution of the tests
(tests/python/lab_solutions.py); the page does not show its settings.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

import run_here
from site_tables import markdown

import sojourn
from sojourn.evidence.labs import SEEDS, Lab, labs

ROOT: Final = Path(__file__).parents[1]
ARGUMENTS: Final = 2


def index() -> str:
    """Return the page that lists the labs."""
    rows = [[str(n), f"[{own.title}]({name}.md)", own.summary] for n, (name, own) in enumerate(labs().items(), 1)]
    return f"""# Course labs

Eight exercises on congestion control and queue management, for a lab session of 60 to 90 minutes each. A student
edits one experiment file, runs it on any computer or in the browser, and gets a mark with an explanation. Nothing
needs root or a network.

{markdown(["number", "lab", "about"], rows)}

## For students

```sh
sojourn lab list
sojourn lab start bufferbloat       # prints the task and writes bufferbloat.toml
sojourn run bufferbloat.toml -o results/bufferbloat
sojourn report results/bufferbloat
sojourn lab check bufferbloat.toml || true
```

Without an installation, open a lab's page, press *Open in the playground* and edit the text there.

## For teachers

`sojourn lab check FILE...` marks any number of files out of ten points and explains every point; `--json` is for
scripts, and the exit status is 0 only if every file has full marks. Marks depend on results over {SEEDS} seeds, not
on the text of a file, so every solution that works gets them, and the same file always gets the same mark. Lines,
flows and measuring windows are fixed; the marker names every change of them. The questions are for discussion, and
no program marks them.

Each student also writes three checks that predict a result of one case. A check gets its point if it holds with
every seed in its case and fails in another: a check that cannot fail shows nothing.

Students' files are data. The marker refuses plugins, Python classes and programs, which would run their code.
"""


def page(own: Lab, folder: Path) -> str:
    """Return the page of a lab; draw its figure."""
    caption = _drawn(own, folder)
    questions = "\n".join(f"{number}. {text}" for number, text in enumerate(own.questions, 1))
    goals = markdown(
        ["case", "goal", "points"],
        [
            ["", "lines, flows and window are unchanged", "1"],
            *(
                [f"`{goal.case}`", f"{goal.what} {goal.bound.text}: `{goal.value}`", str(goal.points)]
                for goal in own.goals
            ),
            ["", "three checks of your own that set the cases apart", "3"],
        ],
    )
    kinds = [
        f"`{kind.case}` uses {' and '.join(f'{key} `{value}`' for key, value in kind.settings.items())}."
        for kind in own.kinds
    ]
    required = f"\n\nRequired: {' '.join(kinds)}" if kinds else ""
    button = run_here.block(
        {f"case {dict(key.scenario.labels)['case']}": key.resolved for key in _loaded(own.start).run_keys}, own.start
    )
    return f"""# {own.title}

{own.text}

Read first: {"; ".join(own.read)}.

## Task

{own.task}{required}

Write three checks that predict a result of one case each. Start with this file, or by `sojourn lab start {own.name}`:

```toml
{own.start.rstrip()}
```

{button}

## What you should see

![{own.title}: a solution]({own.name}.svg)

{caption}

## Questions

{questions}

## Marks

{goals}

A goal counts in full if it holds with all of {SEEDS} seeds, and half if it holds with some.
`sojourn lab check {own.name}.toml` explains each point.
"""


def _loaded(text: str) -> sojourn.Experiment:
    return sojourn.parse(text, "lab.toml").only()


def _drawn(own: Lab, folder: Path) -> str:
    """Draw a solution; return the caption."""
    sys.path.append(str(ROOT / "tests" / "python"))
    from lab_solutions import solution  # noqa: PLC0415 - of the tests, which are not on the path

    kind, *options = own.figure
    with tempfile.TemporaryDirectory() as cache:
        picture = (
            _loaded(solution(own.name, checks=""))
            .run(cache, quiet=True)
            .plot(kind, **dict(option.split("=", 1) for option in options))
        )
        picture.write(folder, own.name)
    return picture.caption


def write(folder: Path) -> None:
    """Write all pages."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "index.md").write_text(index(), encoding="utf-8")
    for name, own in labs().items():
        (folder / f"{name}.md").write_text(page(own, folder), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != ARGUMENTS:
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    write(Path(sys.argv[1]))
