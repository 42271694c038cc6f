"""The scripts of reports and of the explorer: built, committed, and no older than their sources in ``web``."""

import hashlib
import re
from pathlib import Path

import pytest

from in_pages import ROOT, WEB, needs_node, node

BUNDLES = {"report": "python/sojourn/reporting/report.js", "explore": "python/sojourn/explore/explore.js"}


def first_line(name: str) -> str:
    files = [file for folder in sorted((name, "lib")) for file in sorted((WEB / folder).iterdir())]
    digest = hashlib.sha256(b"".join(map(Path.read_bytes, files))).hexdigest()
    return f"// Built by `make bundles` from web/{name} and web/lib, of sha256 {digest}\n"


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_is_of_its_sources(name: str) -> None:
    text = (ROOT / BUNDLES[name]).read_text(encoding="utf-8")
    assert text.startswith(first_line(name)), "run `make bundles`"
    assert not re.search(r"</script|<!--", text, re.IGNORECASE)


@needs_node
def test_the_bundles_are_what_the_sources_make() -> None:
    node("bundles.mjs", "--check")
