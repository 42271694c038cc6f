"""Identifiers in figures: they depend on what is shown, and on nothing else."""

from sojourn.plotting.draw.svg import slim

_FIGURE = (
    '<?xml version="1.0"?><svg viewBox="0 0 10 10"><defs><clipPath id="{clip}"><rect/></clipPath>'
    '<path id="{mark}"/><g id="unused"/></defs><g clip-path="url(#{clip})"><use xlink:href="#{mark}"/>'
    "<text>{said}</text></g></svg>"
)


def test_the_same_figure_has_the_same_identifiers() -> None:
    first = slim(_FIGURE.format(clip="p1f", mark="m2e", said="rate"), "it")
    again = slim(_FIGURE.format(clip="pcafe", mark="mbeef", said="rate"), "it")
    assert first == again
    assert "unused" not in first


def test_figures_in_one_page_do_not_share_identifiers() -> None:
    one = slim(_FIGURE.format(clip="a", mark="b", said="rate"), "it")
    other = slim(_FIGURE.format(clip="a", mark="b", said="delay"), "it")
    ids = [{part.split('"')[0] for part in text.split(' id="')[1:]} for text in (one, other)]
    assert len(ids[0]) == len(ids[1]) == 2
    assert ids[0].isdisjoint(ids[1])


def test_what_is_written_is_left_alone() -> None:
    drawn = slim(_FIGURE.format(clip="a", mark="b", said="url(#a) by name"), "it")
    assert ">url(#a) by name<" in drawn
