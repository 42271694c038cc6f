"""Templates of others: they run no code, read nothing outside of their folder, and end."""

from pathlib import Path

import pytest

from by_hand import frames
from conftest import Make
from sojourn.core.store import Folder
from sojourn.errors import ExperimentError, UsageError
from sojourn.reporting import templates


@pytest.fixture
def folder(tmp_path: Path, make_run: Make) -> Folder:
    path = tmp_path / "results"
    with Folder.create(path, version="1", command="sojourn run by-hand -o results") as made:
        run = make_run()
        made.add(run.key, frames(run), command="sojourn run by-hand -o results")
    return Folder.open(path)


def page(folder: Folder, text: str | bytes) -> str:
    template = folder.path / "mine" / "mine.md"
    template.parent.mkdir(exist_ok=True)
    template.write_bytes(text if isinstance(text, bytes) else text.encode())
    return templates.render(folder, template).markdown.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "{{ cycler.__init__.__globals__.os.popen('touch owned') }}",
        "{{ lipsum.__globals__['os'].popen('touch owned') }}",
        "{{ value.__globals__ }}",
        "{{ include.__closure__[0].cell_contents }}",
        "{{ include['__globals__'] }}",
        "{{ include|attr('__globals__') }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ '{0.__class__.__mro__}'.format('') }}",
        "{{ '{x.__globals__}'.format_map({'x': include}) }}",
        "{{ '%s'|format(include.__globals__) }}",
        "{{ self._TemplateReference__context }}",
        "{{ range.__self__ }}",
        "{{ namespace.__init__.__globals__ }}",
        "{% set d = [] %}{{ d.append(1) }}",
    ],
)
def test_no_code_is_run(folder: Folder, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExperimentError) as caught:
        page(folder, f"one\n{text}")
    assert caught.value.line == 2
    assert str(caught.value.file).endswith("mine.md")
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("name", ["../secret.md", "../../secret.md", "ABSOLUTE", "link.md", "sub/../../secret.md"])
@pytest.mark.parametrize("how", ["{{{{ include('{}') }}}}", "{{% include '{}' %}}", "{{% import '{}' as x %}}"])
def test_nothing_is_read_outside_of_the_folder(folder: Folder, name: str, how: str) -> None:
    (folder.path / "secret.md").write_text("secret")
    (folder.path / "mine").mkdir()
    (folder.path / "mine" / "link.md").symlink_to(folder.path / "secret.md")
    name = str(folder.path / "secret.md") if name == "ABSOLUTE" else name
    with pytest.raises(ExperimentError, match="cannot be included") as caught:
        page(folder, "\n\n" + how.format(name))
    assert caught.value.line == 3


def test_neighbouring_files_are_included_and_their_mistakes_have_their_names(folder: Folder) -> None:
    (folder.path / "mine").mkdir()
    (folder.path / "mine" / "more.md").write_text("more\n{{ 1 / 0 }}\n")
    assert "more" in page(folder, "{{ include('more.md') }}")
    with pytest.raises(ExperimentError, match="division by zero") as caught:
        page(folder, "{% include 'more.md' %}")
    assert (Path(str(caught.value.file)).name, caught.value.line) == ("more.md", 2)
    (folder.path / "mine" / "more.md").write_text("more\n{% for %}\n")
    with pytest.raises(ExperimentError) as caught:
        page(folder, "{% include 'more.md' %}")
    assert (Path(str(caught.value.file)).name, caught.value.line) == ("more.md", 2)


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% for a in range(10**12) %}{% endfor %}",
        "{% for a in [1, 1] recursive %}{% if loop.depth < 60 %}{{ loop([1, 1]) }}{% endif %}{% endfor %}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% include 'mine.md' %}",
        "{{ 'x' * 10**10 }}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ '%10000000000d' % 1 }}",
        "{{ '{:>10000000000}'.format(1) }}",
        "{{ 'x'.ljust(10**10) }}",
        "{{ 'x'|center(10**10) }}",
    ],
)
def test_it_ends(folder: Folder, text: str) -> None:
    with pytest.raises(ExperimentError):
        page(folder, text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ 1 / 0 }}",
        "{{ [][3].x }}",
        "{{ 'a' + 1 }}",
        "{{ {}['x'] }}",
        "{{ include(3) }}",
        "{{ include('a\0b') }}",
        "{{ range() }}",
        "{{ 'x'|nosuch }}",
        "{{ metrics_table('by-hand', x=(1, 2)) }}",
        "{{ metrics_table('by-hand', x=('sum(goodput)', 'a', 'b')) }}",
    ],
)
def test_a_mistake_has_its_place(folder: Folder, text: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        page(folder, f"one\n\n{text}")
    assert caught.value.line == 3


def test_what_is_no_text_is_refused(folder: Folder) -> None:
    with pytest.raises(UsageError, match="UTF-8"):
        page(folder, b"\xff\xfe\x00")


DOUBLING = "{{% set ns = namespace(a={0}, b={0}) %}}{{% for i in range(50) %}}{1}{{% endfor %}}{2}"
PAIRS = "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}"


@pytest.mark.parametrize(
    "text",
    [
        DOUBLING.format("'x' * 1000", "{% set ns.a = ns.a ~ ns.a %}", ""),
        DOUBLING.format("'x' * 1000", "{% set ns.a = ns.a + ns.a %}", ""),
        DOUBLING.format("['x']", "{% set ns.a = ns.a + ns.a %}", ""),
        DOUBLING.format("'x'", "{% set ns.a = [ns.a, ns.a]|join %}", ""),
        *(
            DOUBLING.format("['x']", PAIRS, use)
            for use in (
                "{{ ns.a }}",
                "{{ ns.a|upper }}",
                "{{ ns.a|string|length }}",
                "{{ ns.a == ns.b }}",
                "{{ ns.a is eq ns.b }}",
                "{{ [ns.a, ns.b]|sort }}",
                "{{ ns.a in [ns.b] }}",
            )
        ),
        "{{ ('x' * 1000000)|replace('x', 'y' * 1000) }}",
        "{{ ('x' * 1000000).replace('x', 'y' * 1000) }}",
        "{{ ('x' * 1000000).join(['a'] * 1000) }}",
        "{{ range(100000)|list|map('string')|join('x' * 10000) }}",
        "{{ [1]|batch(1000000000, 'x')|list }}",
        "{{ [1]|slice(1000000000)|list }}",
        "{{ [['x'] * 1000] * 10000 }}",
        "{{ ([['x' * 1000]] * 10000)|sum(start=[]) }}",
        "{{ ('<' * 3000000)|e|e|e }}",
        "{% for i in range(100000) %}" + "y" * 1000 + "{% endfor %}",
        "{% set ns = namespace(a='') %}{% for i in range(100000) %}{% set b %}{{ ns.a }}" + "x" * 200 + "{% endset %}"
        "{% set ns.a = b %}{% endfor %}",
    ],
)
def test_nothing_grows_without_end(folder: Folder, text: str) -> None:
    with pytest.raises(ExperimentError):
        page(folder, text)


def test_what_a_page_needs_is_computed(folder: Folder) -> None:
    text = "{% set a = ['x', 2] %}{{ a|join(', ') ~ '!' }} {{ 'b' if 1 < 2 <= 2 and 'x' in a else 'c' }} {{ a + [3] }}"
    assert "x, 2! b ['x', 2, 3]" in page(folder, text)
