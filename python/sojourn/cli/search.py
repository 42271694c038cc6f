"""``sojourn search``: the worst case, searched for, made simple, and made again."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from sojourn.cli import complete
from sojourn.cli.options import AsJson, Plugins, Quiet, Settings, Threads, Verbose

_ON_LINUX: Final = 6
"""Fresh seeds on Linux, where a run takes seconds: the least that an interval of a median needs."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(search)


def search(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="An experiment file with [b]\\[search][/b].")],
    minimise: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="The metric to minimise: [b]'share(goodput, cubic)'[/b].",
            autocompletion=complete.metrics,
        ),
    ] = None,
    maximise: Annotated[
        str | None, typer.Option(metavar="METRIC", help="The metric to maximise.", autocompletion=complete.metrics)
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME|RUNS", help="Budget of the search: [b]10min[/b], or [b]500runs[/b].")
    ] = "10min",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search and of its runs.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Store every trial and the findings; a later search resumes there."
        ),
    ] = None,
    threads: Threads = None,
    settings: Settings = None,
    bound: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE",
            help="Bound of a finding, in base units (s, bit/s); simplified cases must reach it (default: lose at most "
            "a fifth of the effect).",
        ),
    ] = None,
    no_shrink: Annotated[bool, typer.Option("--no-shrink", help="Do not simplify the finding.")] = False,
    fresh: Annotated[int, typer.Option(min=1, metavar="N", help="Fresh seeds for the confirmation.")] = 15,
    confirm_on: Annotated[
        list[str] | None,
        typer.Option("--confirm", metavar="ENGINE", help="Confirm on this engine, too: [b]linux[/b] (repeatable)."),
    ] = None,
    plugins: Plugins = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    r"""Search an experiment's settings for the worst case of a metric.

    [b]\[search][/b] in the file lists the settings to vary (docs/search.md). The command simplifies the finding as far
    as it still shows the effect, repeats it with fresh seeds, and writes it as an experiment with a check:
    DIR/found.toml. The same seed and number of runs give the same finding with any number of threads; a time limit
    gives the same first trials.
    """
    from sojourn.cli.screen import detail, out, print_json, say
    from sojourn.core.store.atomic import write_file
    from sojourn.errors import Interrupted, UsageError
    from sojourn.search import Budget, Campaign, Subject, account, confirm, regression_test, shrink
    from sojourn.search import as_json as json_of
    from sojourn.search.shrinking import bound_of

    del quiet, verbose
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}", help="name an experiment file with [search]") from error
    subject = Subject(text, str(file), str(file.parent), tuple(settings or ()), tuple(plugins or ()))
    threads = threads or os.cpu_count() or 1
    campaign = Campaign.plan(
        subject,
        minimise=minimise,
        maximise=maximise,
        seed=seed,
        budget=Budget.parse(budget),
        threads=threads,
        folder=output,
        report=detail,
    )
    try:
        found = campaign.make()
        objective = found.objective
        say(f"{found.trials.runs} runs in {found.seconds:.0f} s: {objective.metric} = {found.best.value:.4g}")
        reach = bound_of(found.start.value, found.best.value) if bound is None else bound
        shrunk = None
        confirmed = []
        if found.nothing:
            say("found no more extreme scenario than the file itself")
        elif not no_shrink:
            shrunk = shrink(
                subject, objective, found.best.settings, bound=reach, seed=seed, threads=threads, report=detail
            )
            say(f"{shrunk.tried} simpler scenarios tried, {len(shrunk.steps)} taken")
            engines = [("sim", fresh), *((name, min(fresh, _ON_LINUX)) for name in confirm_on or ())]
            for engine, count in engines:
                confirmed.append(
                    confirm(
                        subject,
                        objective,
                        shrunk.text,
                        bound=shrunk.bound,
                        seed=seed,
                        threads=threads,
                        engine=engine,
                        count=count,
                    )
                )
                say(str(confirmed[-1]))
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted" + (f": the trials are kept in {output}" if output else ""),
            help=f"to go on from there, say the same again{'' if output else '; -o DIR keeps what was tried'}",
        ) from None
    page = account(found, shrunk, confirmed)
    if output is not None:
        write_file(output / "search.md", page.encode())
        if shrunk is not None:
            write_file(output / "found.toml", regression_test(found, shrunk, confirmed[0]).encode())
    if as_json:
        print_json(json_of(found, shrunk, confirmed))
    else:
        out().print(page, soft_wrap=True, markup=False)
