"""``sojourn doctor``: the abilities of this machine for each engine, and how to get the rest."""

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sojourn.linux.kernels import Kernel


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check this machine for each engine, and print commands that install missing parts.

    Exits with status 0 if every engine can run, else with 1.
    """
    from rich.text import Text

    from sojourn import _core
    from sojourn.cli.screen import out, print_json
    from sojourn.core import listings
    from sojourn.linux import iproute
    from sojourn.linux.kernels import kernels
    from sojourn.linux.needs import command, needs

    state = [(need, need.there()) for need in needs()]
    lacking = [need for need, there in state if not there]
    built = kernels()
    run = [need for need in lacking if need.purpose == "run"]
    able = bool(built) and not run
    advice = []
    if lacking and (run or not built):
        advice.append(command(lacking))
    if not built:
        advice.append("sojourn linux build")
    known = [entry["name"] for entry in listings.qdiscs()]
    unknown = [] if run else iproute.unknown(name for name in known if any(name in k.qdiscs for k in built))
    if unknown:
        advice.append("sojourn linux tc")
    refused, lacks, controls = _core.probe_live()
    if as_json:
        print_json(
            {
                "sim": {"ready": True, "version": _core.version()},
                "linux": {
                    "ready": able,
                    "kernels": [k.label for k in built],
                    "ccs": sorted({cc for k in built for cc in k.ccs}),
                    "qdiscs": sorted({qdisc for k in built for qdisc in k.qdiscs}),
                    "missing": [need.name for need in lacking],
                    "unknown_to_tc": unknown,
                    "advice": [a for a in advice if a],
                },
                "live": {
                    "ready": refused is None,
                    "refused": refused and refused[0],
                    "ccs": controls,
                    "missing": lacks,
                    "advice": [refused[1]] if refused else [],
                },
            }
        )
    else:
        lines = [_kernel(kernel) for kernel in built]
        for need in lacking:
            what = "fetch a kernel's source" if need.purpose == "source" else need.purpose
            lines.append(f"missing to {what}: {need.name}")
        lines += [f"a kernel has {name} and no tc here knows it" for name in unknown]
        lines += [f"get it: {line}" for line in advice if line]
        console = out()
        console.print(Text.assemble(("sim    ", "bold"), "ready"))
        console.print(Text.assemble(("linux  ", "bold"), "ready" if able else "not ready"))
        for line in lines:
            console.print(f"         {line}", markup=False)
        console.print(Text.assemble(("live   ", "bold"), "ready" if refused is None else "not ready"))
        for line in _live(refused, lacks, controls):
            console.print(f"         {line}", markup=False)
    if not able or refused is not None:
        raise typer.Exit(1)


def _live(refused: tuple[str, str] | None, lacks: Sequence[str], controls: Sequence[str]) -> list[str]:
    """Return the remarks on the live engine."""
    if refused is not None:
        why, advice = refused
        return [f"refused: {why}", f"get it: {advice}"]
    pasta = shutil.which("pasta")
    outside = "pasta is there" if pasta else "needs pasta (Debian and Fedora: package passt)"
    return [
        f"this machine's kernel: congestion controls {', '.join(controls)}",
        f"sojourn shell --internet: {outside}",
        *(f"lacks: {text}" for text in lacks),
    ]


def _kernel(kernel: "Kernel") -> str:
    """Return the remarks on a kernel."""
    from sojourn.linux.configuration import controls_beyond_mainline

    text = (
        f"kernel {kernel.label} for {kernel.stack}: {len(kernel.ccs)} congestion controls, "
        f"{len(kernel.qdiscs)} queue disciplines"
    )
    if kernel.hash is None:
        return f"{text}; never asked what it has: built by an earlier version"
    own = controls_beyond_mainline(kernel)
    return f"{text}; mainline has no {', '.join(own)}" if own else text
