"""``sojourn conformance marking`` on a kernel's own queues: they keep the law of their words, and fail another."""

import pytest

from sojourn.cli.making import maker
from sojourn.evidence.marking import examine
from sojourn.linux.kernels import standing

pytestmark = pytest.mark.skipif(
    "linux-7.3" not in standing().values(), reason="no kernel is built: sojourn linux build"
)

RED = "red limit 400k min 30k max 90k avpkt 1514 burst 30 ecn probability 0.1 bandwidth 12mbit"


@pytest.mark.parametrize(
    ("words", "law", "names", "due"),
    [
        (RED, None, ["curve", "reaction", "idle"], ["passed", "passed", "not observable"]),
        (RED.replace("min 30k", "min 43k"), RED, ["curve"], ["failed"]),
        ("codel ecn", None, ["law", "resumes"], ["passed", "passed"]),
        ("codel interval 70ms ecn", "codel ecn", ["law"], ["failed"]),
        ("fq_codel", None, ["law"], ["passed"]),
        ("pie ecn", None, ["step", "ecn", "rest"], ["passed", "passed", "passed"]),
        ("pie alpha 8 ecn", "pie ecn", ["step"], ["failed"]),
        ("dualpi2", None, ["root", "step", "share"], ["passed", "passed", "passed"]),
        ("dualpi2 coupling_factor 1", "dualpi2", ["root"], ["failed"]),
    ],
)
def test_a_kernels_queue_keeps_the_law_of_its_words(
    words: str, law: str | None, names: list[str], due: list[str]
) -> None:
    own = examine(words, maker("linux", 2, None), law=law, names=names, engine="linux")
    found = {one.case.name: one for one in own.outcomes}
    assert [str(found[name].verdict) for name in names] == due, own.outcomes
