"""``sojourn bdp``: the bandwidth-delay product of a path, and buffers as multiples of it."""

from math import sqrt
from typing import Annotated, Final

import typer

from sojourn.cli.options import AsJson

_MULTIPLES: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
_FRAME: Final = 1514
"""Bytes of a full packet in a queue, Ethernet header included."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(bdp)


def bdp(
    rate: Annotated[str, typer.Argument(metavar="RATE", help="The bottleneck's rate: [b]50mbit[/b].")],
    rtt: Annotated[str, typer.Argument(metavar="RTT", help="The base RTT of the path: [b]40ms[/b].")],
    flows: Annotated[int, typer.Option(min=1, metavar="N", help="Long flows that share the buffer.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Print the bandwidth-delay product of a path, and buffers as multiples of it.

    With [b]--flows N[/b] also the buffer that N flows of Reno need when they are not synchronised, BDP/√N
    (Appenzeller and others, SIGCOMM 2004).
    """
    from sojourn import _core
    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out, print_json
    from sojourn.errors import UsageError

    for text, example in ((rate, "50mbit"), (rtt, "40ms")):
        # tc takes a bare number for bit/s or µs, which nobody means here.
        if text.strip().replace(".", "").isdigit():
            raise UsageError(f"{text} has no unit", help=f"write {text}{example.lstrip('0123456789')}, for instance")
    try:
        bits, seconds = _core.parse_rate(rate), _core.parse_span(rtt)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not bits or not seconds:
        raise UsageError("a path with a rate or an RTT of zero holds nothing")
    product = bits * seconds / 8
    named = [(f"{multiple:g} BDP", multiple) for multiple in _MULTIPLES]
    if flows > 1:
        named.append((f"BDP/√{flows}", 1 / sqrt(flows)))
    buffers = [
        {
            "buffer": name,
            "bytes": round(product * multiple),
            "packets": max(1, round(product * multiple / _FRAME)),
            "delay_ms": seconds * multiple * 1e3,
        }
        for name, multiple in named
    ]
    if as_json:
        print_json({"rate_bps": bits, "rtt_s": seconds, "bdp_bytes": round(product), "buffers": buffers})
        return
    full = product / _FRAME
    out().print(f"{rate} and {rtt} hold {product:,.0f} bytes in flight: {full:,.1f} packets of {_FRAME} bytes.\n")
    rows = [[str(b["buffer"]), f"{b['bytes']:,}", f"{b['packets']:,}", f"{b['delay_ms']:.4g}"] for b in buffers]
    print_table(["buffer", "bytes", "packets", "delay when full, ms"], rows, right=range(1, 4))
