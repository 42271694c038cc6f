"""A template rendered: the Markdown page, and the HTML page that stands alone."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Final

import jinja2
import jinja2.exceptions

from sojourn.core.store import Folder
from sojourn.core.store.atomic import write_file
from sojourn.errors import ExperimentError, StoreError, UsageError
from sojourn.interop.tables import export_run
from sojourn.plotting.draw.svg import bounded, standalone
from sojourn.reporting import script
from sojourn.reporting.markdown import reader
from sojourn.reporting.templates.functions import Functions
from sojourn.reporting.templates.results import Evidence, Painted, Results
from sojourn.reporting.templates.sandbox import Sandbox, read_text
from sojourn.views.html import legible

_IMAGE: Final = re.compile(r'<p><img src="(?P<src>[^"]+)" alt="(?P<alt>[^"]*)"\s*/?></p>')


@dataclass(frozen=True, slots=True)
class Page:
    """The written files."""

    html: Path
    markdown: Path
    pictures: int


def published() -> Mapping[str, Path]:
    """Return the templates of the package by name: one for each suite that is a published report."""
    found = sorted(_published().glob("*.md"))
    return {path.name.removesuffix(".md"): path for path in found if not path.name.startswith("_")}


def _published() -> Path:
    return Path(str(files("sojourn.reporting.templates"))) / "published"


def render(
    evidence: Folder | Evidence,
    template: Path,
    *,
    processes: int = 1,
    watcher: Callable[[int, int], None] | None = None,
) -> Page:
    """Render a template against the runs of a folder; write ``NAME.md``, ``NAME.html`` and the pictures in ``NAME/``.

    Args:
        evidence: the results; as :class:`.Evidence` where several pages are made of a folder, which is then read once.
        template: the Markdown text with calls of the functions (:data:`.FUNCTIONS`).
        processes: how many draw at a time.
        watcher: called with the number of pictures drawn and the number of all.

    Raises:
        ExperimentError: if the template is wrong, with its line.
        UsageError: if it cannot be read.
        StoreError: if the folder cannot be read or written.
    """
    name = template.name.removesuffix(".md")
    shared = evidence if isinstance(evidence, Evidence) else Evidence(evidence)
    folder = shared.folder
    results = Results(shared, name)
    functions = Functions(results, [template.parent, _published()])
    pictures = folder.path / name
    try:
        pictures.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot create {pictures}: {error.strerror}") from error
    text = _filled(template, functions)
    drawn = results.draw(processes, watcher)
    for stem, picture in drawn.items():
        write_file(pictures / f"{stem}.svg", standalone(picture.svg).encode())
        write_file(pictures / f"{stem}.csv", picture.csv)
    for record in results.exports.values():
        export_run(record, pictures / record.name)
    html, markdown = folder.path / f"{name}.html", folder.path / f"{name}.md"
    write_file(markdown, legible(text).encode())
    pictures_of = {f"{name}/{stem}.svg": made for stem, made in drawn.items()}
    several = any(len({run.seed for _, run in own}) > 1 for own in results.runs.values())
    write_file(html, legible(_page(text, functions, pictures_of, several=several)).encode())
    return Page(html, markdown, len(drawn) + len(functions.ready))


def _filled(template: Path, functions: Functions) -> str:
    source = read_text(template)
    environment = Sandbox(functions.places, functions.table())
    try:
        return environment.from_string(source).render()
    except jinja2.TemplateSyntaxError as error:
        file = Path(error.filename) if error.filename and error.filename != _OWN else template
        raise _wrong(file, error.lineno, error.message or "this is not understood") from error
    except jinja2.UndefinedError as error:
        raise _wrong(*_place(error, template), f"{error.message}; the functions are in docs/reports.md") from error
    except jinja2.exceptions.SecurityError as error:
        help_ = "a template may call the functions of docs/reports.md, and nothing else"
        raise _wrong(*_place(error, template), str(error), help=help_) from error
    except UsageError as error:
        raise _wrong(*_place(error, template), error.message, help=error.help) from error
    except RecursionError as error:
        raise _wrong(*_place(error, template), "this calls or includes itself without end") from error
    except _MISTAKES as error:
        said = str(error).replace("Functions.", "") or type(error).__name__
        raise _wrong(*_place(error, template), said) from error


_OWN: Final = "<template>"
"""What Jinja calls the text that it is given."""

_MISTAKES: Final = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)
"""Exceptions of a template's own expressions."""


def _place(error: BaseException, template: Path) -> tuple[Path, int | None]:
    """Return the file, the template or one that it includes, and the line: Jinja's frames have both."""
    file, line = template, None
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == _OWN or "__jinja_exception__" in trace.tb_frame.f_globals:
            file, line = template if code.co_filename == _OWN else Path(code.co_filename), trace.tb_lineno
        trace = trace.tb_next
    return file, line


def _wrong(
    template: Path,
    line: int | None,
    message: str,
    *,
    help: str | None = None,  # noqa: A002 - the word shown
) -> ExperimentError:
    lines = read_text(template).splitlines()
    shown = lines[line - 1] if line is not None and 0 < line <= len(lines) else None
    return ExperimentError(message, file=str(template), line=line, source=shown, help=help)


# --- HTML ---------------------------------------------------------------------------------------------------------


def _page(text: str, functions: Functions, drawn: Mapping[str, Painted], *, several: bool) -> str:
    body, contents = _body(text)

    def inline(match: re.Match[str]) -> str:
        path = match["src"]
        made = drawn.get(path)
        svg, numbers = (functions.ready.get(path), "") if made is None else (made.svg, made.numbers)
        if svg is None:
            return match[0]
        data = "" if made is None else f' <a href="{path.removesuffix("svg")}csv">data</a>'
        caption = match["alt"] if made is None else f"<b>{match['alt'].rstrip('.')}.</b> {made.caption}"
        plot = f'<div class="plot">{bounded(svg)}{script.data_block(numbers)}</div>' if numbers else bounded(svg)
        return f"<figure>{plot}<figcaption>{caption}{data}</figcaption></figure>"

    loader = jinja2.Environment(
        loader=jinja2.PackageLoader("sojourn.reporting.templates", "published"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    head, closed, rest = _IMAGE.sub(inline, body).partition("</h1>")
    return loader.get_template("_page.html.j2").render(
        title=contents[0][2] if contents else "Report",
        head=head + closed if closed else "",
        rest=rest if closed else head,
        contents=contents,
        several=several,
        script=script.script(),
        answers=script.style(),
        policy=script.policy(),
    )


def _body(text: str) -> tuple[str, list[tuple[int, str, str]]]:
    """Return the text as HTML, and its headings as (level, anchor, text)."""
    read = reader()
    tokens = read.parse(text)
    contents: list[tuple[int, str, str]] = []
    seen: dict[str, int] = {}
    for token, following in pairwise(tokens):
        if token.type == "heading_open":
            anchor = re.sub(r"[^\w\- ]", "", following.content.lower()).replace(" ", "-")
            seen[anchor] = seen.get(anchor, -1) + 1
            anchor = f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor
            token.attrSet("id", anchor)
            contents.append((int(token.tag[1]), anchor, re.sub(r"[*`_]", "", following.content)))
    return read.renderer.render(tokens, read.options, {}), contents
