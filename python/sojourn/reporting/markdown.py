"""Markdown to HTML, for published reports and conformance pages."""

from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt


def reader() -> MarkdownIt:
    r"""Return a reader of CommonMark with tables; each table scrolls by itself, so that a phone's page does not.

    >>> reader().render("| a |\n|---|")
    '<div class="scroll" tabindex="0"><table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n</table>\n</div>\n'
    """
    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    made.add_render_rule("table_open", _open)
    made.add_render_rule("table_close", _close)
    return made


def _open(renderer: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:  # noqa: ANN401 - markdown-it's
    return f'<div class="scroll" tabindex="0">{renderer.renderToken(tokens, at, options, env)}'


def _close(renderer: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:  # noqa: ANN401 - markdown-it's
    return f"{renderer.renderToken(tokens, at, options, env)}</div>\n"
