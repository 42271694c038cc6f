import math
from pathlib import Path
from typing import Any

import pytest

from by_hand import a_scenario
from sojourn.errors import UsageError
from sojourn.validate import Cells, Noise, Row, judge, read_published, summarise
from sojourn.validate.judge import quantile

HEADER = "scenario,rate_mbit,qdisc,qdisc_tc,cc1,rtt1_ms,d1_mbps,cc2,rtt2_ms,d2_mbps,length_s,window_s\n"


def published(tmp_path: Path, *lines: str) -> list[Row]:
    file = tmp_path / "rows.csv"
    file.write_text(HEADER + "".join(f"{line}\n" for line in lines))
    return read_published(file)


def cells(runs: list[tuple[float, ...]], **settings: Any) -> Cells:
    found = Cells()
    for seed, rates in enumerate(runs, 1):
        found.add(a_scenario(seed=seed, **settings), lambda window, rates=rates: rates)  # type: ignore[misc]
    return found


def test_quantiles_interpolate_between_order_statistics() -> None:
    values = [10.0, 0.0, 20.0, 30.0, 40.0]
    assert [quantile(values, q) for q in (0.0, 0.025, 0.5, 0.9, 1.0)] == pytest.approx([0, 1, 20, 36, 40])


def test_a_row_worked_out_by_hand(tmp_path: Path) -> None:
    [row] = published(tmp_path, "s1,50,fifo,pfifo limit 1000,cubic,20,22,cubic,10,26,180,60")
    ours = cells([(23.0, 25.0), (24.0, 24.0), (25.0, 23.0)], qdisc="pfifo limit 1000", delays=("10ms", "5ms"))
    cell = ours.match(row)
    assert cell is not None
    noise = Noise({(50.0, "fifo", "cc_share1-.5"): 0.02})
    judged = judge(row, cell, noise)
    assert judged.share is not None
    # Shares 23/48, 24/48, 25/48; the 2.5 % quantile lies a twentieth of the way from the first to the second.
    low = 23 / 48 + 0.05 / 48 - 1.96 * 0.02
    assert judged.share.low == pytest.approx(low)
    assert judged.share.high == pytest.approx(1 - low)
    assert judged.share.published == pytest.approx(22 / 48)
    assert judged.share.agrees
    assert judged.ours_mbps == (24.0, 24.0)
    assert judged.errors == pytest.approx((2 / 48, -2 / 48))
    assert (judged.total.low, judged.total.high) == pytest.approx((48 - 0.48, 48 + 0.48))
    assert judged.agrees
    assert not judge(row, cell, Noise()).agrees

    everything, queue, sender = summarise([judged])
    assert (everything.by, queue.group, sender.group) == ("all", "fifo", "cubic")
    for summary in (everything, queue, sender):
        assert summary.rows == 1
        assert summary.coverage == 1.0
        assert summary.median_bias == pytest.approx(0.0)
        assert summary.median_abs_error == pytest.approx(2 / 48)
        assert summary.p90_abs_error == pytest.approx(2 / 48)


def test_a_total_that_is_off_does_not_agree_whatever_the_share(tmp_path: Path) -> None:
    [row] = published(tmp_path, "s1,50,fq,fq_codel,cubic,20,40,cubic,20,40,180,60")
    cell = cells([(20.0, 20.0)] * 3).match(row)
    assert cell is not None
    judged = judge(row, cell, Noise())
    assert judged.share is not None
    assert judged.share.agrees
    assert not judged.total.agrees
    assert not judged.agrees


def test_flows_are_matched_in_either_order(tmp_path: Path) -> None:
    [row] = published(tmp_path, "s1,50,fq,fq_codel,reno,80,10,cubic,20,37,180,60")
    cell = cells([(36.0, 11.0)], ccs=("cubic", "reno"), delays=("10ms", "40ms")).match(row)
    assert cell is not None
    assert cell.rates_mbps(60.0) == [(11.0, 36.0)]


@pytest.mark.parametrize(
    "line",
    [
        "s1,10,fq,fq_codel,cubic,20,1,cubic,20,1,180,60",
        "s1,50,fq,fq_codel flows 1,cubic,20,1,cubic,20,1,180,60",
        "s1,50,fq,fq_codel,prague,20,1,cubic,20,1,180,60",
        "s1,50,fq,fq_codel,cubic,20,1,cubic,80,1,180,60",
        "s1,50,fq,fq_codel,cubic,20,1,cubic,20,1,60,40",
        "s1,50,fq,fq_codel,cubic,20,1,,,,180,60",
    ],
)
def test_what_was_not_run_matches_nothing(tmp_path: Path, line: str) -> None:
    [row] = published(tmp_path, line)
    assert cells([(20.0, 27.0)]).match(row) is None


def test_runs_with_events_are_no_steady_cells(tmp_path: Path) -> None:
    [row] = published(tmp_path, "s2,50,fq,fq_codel,cubic,20,40,,,,180,60")
    found = Cells()
    scenario = a_scenario(ccs=("cubic",), delays=("10ms",))
    found.add({**scenario, "events": [{"name": "step"}]}, lambda _: (40.0,))
    assert found.match(row) is None
    found.add(scenario, lambda _: (40.0,))
    cell = found.match(row)
    assert cell is not None
    judged = judge(row, cell, Noise())
    assert judged.share is None
    assert judged.agrees


def test_the_published_noise_is_pooled_over_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "s1_replicate_noise.csv"
    file.write_text(
        "rate,qdisc,rtt,prague_share_(c-vs-p),prague_share_(p-vs-c),diff,pp_share1-.5,cc_share1-.5\n"
        "50,fq,10,0.5,0.4,0.1,0.01,-0.03\n50,fq,20,0.5,0.4,-0.1,0.01,0.04\n"
    )
    noise = Noise.beside(tmp_path / "s1_50mbit.csv")
    assert noise.deviations[50.0, "fq", "diff"] == pytest.approx(0.1 / math.sqrt(2))
    assert noise.deviations[50.0, "fq", "cc_share1-.5"] == pytest.approx(math.sqrt((0.0009 + 0.0016) / 2))
    [mixed] = published(tmp_path, "s1,50,fq,fq_codel,prague,20,1,cubic,20,1,180,60")
    assert noise.share(mixed) == pytest.approx(0.1 / math.sqrt(2))
    assert Noise.beside(tmp_path / "other.csv").share(mixed) is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2\n", ":1: there is no column rate_mbit, qdisc, cc1, rtt1_ms, d1_mbps"),
        (
            HEADER + "s1,fast,fq,fq_codel,cubic,20,1,cubic,20,1,180,60\n",
            ':2: column rate_mbit has "fast", not a number',
        ),
        (HEADER + "s1,50,fq,fq_codel,cubic,20,,cubic,20,1,180,60\n", ":2: column d1_mbps has nothing, not a number"),
        (HEADER + "s1,50,fq\n", ":2: this row has not as many values as the header has columns (12)"),
    ],
)
def test_a_table_that_is_not_understood_is_named_with_line_and_column(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(content)
    with pytest.raises(UsageError) as raised:
        read_published(file)
    assert raised.value.message == f"{file}{said}"


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_published(tmp_path / "nothing.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="is not a CSV file"):
        read_published(tmp_path / "bytes.csv")
