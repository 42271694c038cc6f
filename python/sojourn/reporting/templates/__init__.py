"""Reports written around results: Markdown templates whose functions draw, tabulate and judge the runs of a folder.

The published reports are such templates: text by a person, with a function call wherever a picture, a table or a link
to data stands, evaluated against a results folder. A researcher changes the text and renders it again; when the runs
are made again, so are the figures. The originals' functions have their names here (``plot_inline``, ``plot_link``,
``chart_inline``, ``chart_link``, ``batch_link``, ``gen_table``, ``include``), and
others stand beside them: :mod:`sojourn.reporting.templates.functions` is their one table.

Invariants: only what a page shows is drawn; a page never fails for a run that was not made (it says what would make
it); a mistake in a template is an error with file and line. The trick: both pages, Markdown and the HTML that stands
alone, come from one text; HTML has the pictures' SVG in the place of their links.
"""

from sojourn.reporting.templates.page import Page, published, render
from sojourn.reporting.templates.results import Evidence

__all__ = ["Evidence", "Page", "published", "render"]
