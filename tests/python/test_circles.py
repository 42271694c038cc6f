"""The check that no Rust file uses another in a circle."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def circles() -> ModuleType:
    """Return the tool as a module."""
    path = Path(__file__).parents[2] / "tools" / "circles.py"
    spec = importlib.util.spec_from_file_location("circles", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def crate(folder: Path, **files: str) -> Path:
    """Write a crate's files; two underscores lead into a folder."""
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.rs"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def test_a_circle_is_found_behind_what_a_file_hands_on(circles: ModuleType, tmp_path: Path) -> None:
    source = crate(
        tmp_path,
        lib="mod a;\nmod b;\npub use a::{A, other::Deep as D};\npub use b::B;",
        a="use crate::B;\npub struct A(B);",
        b="pub struct B;\nfn f() { crate::a::g() }",
    )
    assert circles.Crate(source).circle() == [("a",), ("b",), ("a",)]


@pytest.mark.parametrize(
    "b",
    [
        "pub struct B;",
        "//! Of crate::a::A.\npub struct B;",
        'pub const B: &str = "crate::a::A";',
        "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }",
    ],
)
def test_comments_texts_and_tests_are_no_use(circles: ModuleType, tmp_path: Path, b: str) -> None:
    source = crate(tmp_path, lib="mod a;\nmod b;\npub use a::A;", a="use crate::b::B;", b=b)
    assert circles.Crate(source).circle() == []


def test_a_folders_file_may_hand_on_what_its_files_use_of_each_other(circles: ModuleType, tmp_path: Path) -> None:
    source = crate(
        tmp_path,
        lib="pub mod app;",
        app__mod="mod any;\nmod one;\npub use any::Any;\npub use one::One;",
        app__any="use super::One;\npub enum Any { One(One) }",
        app__one="pub struct One;",
    )
    assert circles.Crate(source).circle() == []
    crate(tmp_path, app__one="use super::Any;\npub struct One(Box<Any>);")
    assert circles.Crate(source).circle() == [("app", "any"), ("app", "one"), ("app", "any")]
