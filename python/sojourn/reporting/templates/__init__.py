"""Reports written around results: Markdown templates with functions that draw, tabulate and judge a folder's runs.

The published reports are such templates: text by a person, with a function call for each picture, table or link
to data, evaluated against a results folder. A researcher changes the text and renders it again; when the runs
are made again, so are the figures. The originals' functions have their names here (``plot_inline``, ``plot_link``,
``chart_inline``, ``chart_link``, ``batch_link``, ``gen_table``, ``include``), and there are others:
:mod:`sojourn.reporting.templates.functions` is their one table.

Invariants: only what a page shows is drawn; a page never fails for a run that was not made (it says what would make
it); a mistake in a template is an error with file and line. The trick: both pages, Markdown and self-contained HTML,
come from one text; HTML has the pictures' SVG instead of links.
"""

from sojourn.reporting.templates.page import Page, published, render
from sojourn.reporting.templates.results import Evidence

__all__ = ["Evidence", "Page", "published", "render"]
