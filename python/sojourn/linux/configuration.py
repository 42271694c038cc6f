"""The configuration of a kernel.

No configuration can set User-Mode Linux's tick rate. So a copy of the tree's own top Kconfig sets it, with one symbol
before everything else (Kconfig takes the first default of a symbol that is defined twice). All else is from
``fragment.config``, with every further congestion control and queue discipline of the tree: the user's own must not be
forgotten, and the fragment cannot know them.
"""

import re
from importlib.resources import files
from pathlib import Path
from typing import Final

from sojourn.errors import UsageError
from sojourn.linux.kernels import Kernel

HZ: Final = 250
"""What distributions set; TCP's and PIE's clocks tick in it."""

_LISTS: Final = (("net/ipv4/Kconfig", "TCP_CONG_"), ("net/sched/Kconfig", "NET_SCH_"))
"""Where a tree has its congestion controls and queue disciplines, and how their options begin."""
_NONE_OF_THEM: Final = {"NET_SCH_DEFAULT"}
"""It chooses which is the default."""

SHIPPED: Final = ("tunnels",)
"""Words for the package's own files of options: ``tunnels.config`` is for tunnels by the kernel."""

NEEDED: Final = ("CONFIG_UML_TIME_TRAVEL_SUPPORT=y", "CONFIG_HOSTFS=y", f"CONFIG_HZ={HZ}")


def top(kconfig: str) -> str:
    r"""Return a tree's top Kconfig with the tick rate in front.

    >>> print(top("# A comment\nsource \"init/Kconfig\"\n").expandtabs(4))
    # A comment
    config HZ
        int
        default 250
    <BLANKLINE>
    source "init/Kconfig"
    <BLANKLINE>
    """
    first = kconfig.index('source "')
    return f"{kconfig[:first]}config HZ\n\tint\n\tdefault {HZ}\n\n{kconfig[first:]}"


def fragment(tree: Path, own: Path | None) -> str:
    """Return the options beyond User-Mode Linux's defaults: ours, the tree's, and then the user's own lines.

    Raises:
        UsageError: if the user's file cannot be read, or has something else than options in it.
    """
    ours = _fragment()
    more = [f"CONFIG_{name}=y" for name in options(tree) if f"CONFIG_{name}=" not in ours]
    return "\n".join([ours, *more, *lines(own)]) + "\n"


def options(tree: Path) -> list[str]:
    """Return the options of a tree's congestion controls and queue disciplines."""
    found: list[str] = []
    for file, prefix in _LISTS:
        text = (tree / file).read_text(encoding="utf-8", errors="replace")
        found += re.findall(rf"^\s*(?:menu)?config\s+({prefix}\w+)", text, re.MULTILINE)
    return [name for name in dict.fromkeys(found) if name not in _NONE_OF_THEM]


def controls_beyond_mainline(kernel: Kernel) -> list[str]:
    """Return the congestion controls of a kernel that mainline does not have.

    For a kernel that an earlier version of Sojourn built there are none: only the names of its options are known.
    """
    if kernel.hash is None:
        return []
    named = {name.lower() for name in re.findall(r"^CONFIG_TCP_CONG_(\w+)=y$", _fragment(), re.MULTILINE)}
    # One module is called otherwise than its option, and one option is of trees alone.
    mainline = named - {"advanced", "hstcp", "prague"} | {"reno", "highspeed"}
    return [cc for cc in kernel.ccs if cc not in mainline]


def _fragment() -> str:
    return (Path(str(files("sojourn.linux"))) / "fragment.config").read_text()


def lines(own: Path | None) -> list[str]:
    """Return the options of a user's file: ``CONFIG_X=y`` and ``# CONFIG_X is not set``, a line each."""
    if own is None:
        return []
    try:
        text = own.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {own}: {getattr(error, 'strerror', None) or 'it is not a text file'}") from error
    said = [line.strip() for line in text.splitlines() if line.strip()]
    for number, line in enumerate(text.splitlines(), 1):
        word = line.strip()
        if word and not word.startswith("#") and re.fullmatch(r"CONFIG_\w+=.+", word) is None:
            raise UsageError(f"{own}:{number}: {word} is not a kernel option", help="write CONFIG_NAME=y, a line each")
    return said


def named(config: Path | None) -> Path | None:
    """Return the file of a word of :data:`SHIPPED`, and any other path as it is. A file that is called so comes first.

    >>> named(Path("tunnels")).name, named(Path("own.config")).name
    ('tunnels.config', 'own.config')
    """
    if config is None or str(config) not in SHIPPED or config.is_file():
        return config
    return Path(str(files("sojourn.linux"))) / f"{config}.config"


def refuse_what_does_not_take(config: str, own: Path | None) -> None:
    """Refuse a configuration without an option that the engine needs or the user asked for.

    Raises:
        UsageError: naming the option.
    """
    there = set(config.splitlines())
    for needed in NEEDED:
        if needed not in there:
            raise UsageError(
                f"this kernel cannot be used: its configuration does not accept {needed}", help="5.4 or newer is needed"
            )
    for asked in lines(own):
        if asked.startswith("CONFIG_") and asked.endswith("=y") and asked not in there:
            raise UsageError(
                f"the kernel's configuration does not accept {asked} of {own}",
                help="the tree has no such option, or it depends on one that is not set",
            )
