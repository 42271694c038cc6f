"""The check that no Rust file uses another in a circle."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def circles(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the tool as a module."""
    path = Path(__file__).parents[2] / "tools" / "circles.py"
    monkeypatch.syspath_prepend(path.parent)
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
        "pub struct B;\n#[cfg(test)]\npub(super) mod tests { use crate::a::A; }",
        "pub(in crate::a) struct B;",
        "pub struct B(*const A);\nconst QUOTE: char = '\"';",
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


LIST = """
macro_rules! kinds {
    ($take:ident) => {
        $take! {
            one: One INFO;
            pub two: Two SMALL, Three LARGE;
        }
    };
}
macro_rules! modules {
    ($($vis:vis $file:ident: $($type:ident $info:ident),+;)*) => {
        $($vis mod $file; pub use $file::{$($type),+};)*
    };
}
kinds!(modules);
mod any;
pub use any::Any;
"""
ANY = """
macro_rules! any {
    ($($vis:vis $file:ident: $($variant:ident $info:ident),+;)*) => {
        pub enum Any { $($($variant($PATH),)+)* }
        macro_rules! each {
            ($any:expr, $it:ident => $what:expr) => { match $any { $($(Any::$variant($it) => $what,)+)* } };
        }
    };
}
kinds!(any);
"""


@pytest.mark.parametrize("path", ["crate::$file::$variant<P>", "super::$variant", "crate::$variant"])
def test_a_list_of_modules_is_read(circles: ModuleType, tmp_path: Path, path: str) -> None:
    files = {"lib": LIST, "any": ANY.replace("$PATH", path), "one": "pub struct One;"}
    two = "pub struct Two;\npub struct Three"
    source = crate(tmp_path, two=f"{two};", **files)
    assert circles.Crate(source).circle() == []
    crate(tmp_path, two=f"{two}(Box<crate::Any>);")
    assert circles.Crate(source).circle() == [("any",), ("two",), ("any",)]


def test_a_file_uses_what_it_hands_on_and_names_itself(circles: ModuleType, tmp_path: Path) -> None:
    b = "use super::A;\npub struct B(A);"
    source = crate(tmp_path, lib="mod b;\npub use b::B;\npub struct A;", b=b)
    assert circles.Crate(source).circle() == []
    for lib in ("pub use b::B;\npub struct A(Vec<B>);", "pub use b::*;\npub struct A(Vec<B>);"):
        crate(tmp_path, lib=f"mod b;\n{lib}")
        assert circles.Crate(source).circle() == [(), ("b",), ()]


def test_a_path_that_begins_with_an_own_module_is_a_use(circles: ModuleType, tmp_path: Path) -> None:
    source = crate(tmp_path, lib="mod b;\npub struct A;\nfn f() { b::g() }", b="use super::A;\npub fn g() {}")
    assert circles.Crate(source).circle() == [(), ("b",), ()]


def test_an_exported_macro_is_of_the_file_that_defines_it(circles: ModuleType, tmp_path: Path) -> None:
    a = "use crate::{Of, of};\npub struct A;\nconst OF: Of = of!(A);"
    b = "pub struct Of;\n#[macro_export]\nmacro_rules! of { ($t:ty) => { $crate::Of }; }"
    source = crate(tmp_path, lib="mod a;\nmod b;\npub use b::Of;\npub struct Own(a::A);", a=a, b=b)
    assert circles.Crate(source).circle() == []
    crate(tmp_path, b=b + "\nuse crate::a::A;")
    assert circles.Crate(source).circle() == [("a",), ("b",), ("a",)]


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("a", "crate::a"),
        ("a,", "crate::a"),
        ("a, b", "crate::a | crate::b"),
        ("pub(crate) a", "pub ( crate ) mod a ;"),
        ("a b", ""),
        ("1 +", ""),
    ],
)
def test_a_macro_takes_its_first_arm_that_fits(circles: ModuleType, given: str, becomes: str) -> None:
    macros = circles.Macros()
    macros.read("""
        macro_rules! m {
            ($($x:ident),+ $(,)?) => { $(crate::$x)|+ };
            ($v:vis $x:ident) => { $v mod $x; };
            ($x:expr) => { $x };
        }
    """)
    assert macros.expanded(f"m!({given});").strip() == becomes
