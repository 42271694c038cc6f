from sojourn.errors import ExperimentError, SojournError, UsageError


def test_an_error_shows_its_place_and_what_would_be_right() -> None:
    error = ExperimentError(
        'unknown key "rat"',
        file="a.toml",
        line=12,
        column=1,
        width=3,
        source='rat = "50mbit"',
        help='did you mean "rate"?',
    )
    assert error.render() == (
        'unknown key "rat"\n  --> a.toml:12:1\n    |\n 12 | rat = "50mbit"\n    | ^^^\n  help: did you mean "rate"?'
    )
    # In a notebook, too, whoever reads the mistake sees where it is.
    assert str(error) == error.render()
    assert error.message == 'unknown key "rat"'


def test_the_mark_stands_under_its_place_behind_tabs_and_ends_with_the_line() -> None:
    error = ExperimentError("no", file="a", line=1, column=3, width=99, source="\t\tx = 1")
    assert error.render().endswith("   | \t\t^^^^^")


def test_several_mistakes_are_all_shown() -> None:
    error = ExperimentError("one", file="a", line=1, also=[ExperimentError("two", file="a", line=2)])
    assert error.render() == "one\n  --> a:1\n\ntwo\n  --> a:2"


def test_an_unknown_name_comes_with_the_nearest() -> None:
    error = UsageError.unknown("stack", "linux-7", ["linux-7.3", "linux-5.4"])
    assert isinstance(error, SojournError)
    assert error.help == 'did you mean "linux-7.3"?'
    assert UsageError.unknown("stack", "windows", ["a", "b"]).help == "available: a, b"
