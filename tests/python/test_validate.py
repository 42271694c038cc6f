import math
from pathlib import Path
from typing import Any

import pytest

from conftest import Make
from sojourn.errors import UsageError
from sojourn.validate import Cells, Noise, Row, judge, read_published, summarise

HEADER = "scenario,rate_mbit,qdisc,qdisc_tc,cc1,rtt1_ms,d1_mbps,cc2,rtt2_ms,d2_mbps,length_s,window_s\n"


def published(tmp_path: Path, *lines: str) -> list[Row]:
    file = tmp_path / "rows.csv"
    file.write_text(HEADER + "".join(f"{line}\n" for line in lines))
    return read_published(file)


def cells(make_run: Make, *rates: tuple[float, ...], **settings: Any) -> Cells:
    found = Cells()
    for seed, own in enumerate(rates, 1):
        found.add(make_run(own, seed=seed, **settings))
    return found


def test_a_row_worked_out_by_hand(tmp_path: Path, make_run: Make) -> None:
    [row] = published(tmp_path, "s1,50,fifo,pfifo limit 1000,cubic,20,22,cubic,10,26,180,60")
    ours = cells(make_run, (23, 25), (24, 24), (25, 23), qdisc="pfifo limit 1000", delays=("10ms", "5ms"))
    cell = ours.match(row)
    assert cell is not None
    noise = Noise({(50.0, "fifo", "cc_share1-.5"): 0.02})
    judged = judge(row, cell, noise)
    first, second = judged.values
    # Of 23, 24, 25 the 2.5 % quantile lies a twentieth of the way from the first to the second.
    assert (first.low, first.ours, first.high) == pytest.approx((23.05, 24, 24.95))
    assert first.noise == pytest.approx(1.96 * 0.02 * 48 + 0.01 * 22)
    assert second.noise == pytest.approx(1.96 * 0.02 * 48 + 0.01 * 26)
    assert (first.bias, second.bias) == pytest.approx((2 / 48, -2 / 48))
    assert judged.seeds == 3
    assert judged.total_error == pytest.approx(0)
    assert first.agrees
    assert second.agrees
    assert judged.agrees
    assert not judge(row, cell, Noise()).agrees

    everything, queue, sender = summarise([judged])
    assert (everything.by, queue.group, sender.group) == ("all", "fifo", "cubic")
    for summary in (everything, queue, sender):
        assert (summary.rows, summary.coverage, summary.totals_within_1_percent) == (1, 1.0, 1.0)
        assert summary.median_bias == pytest.approx(2 / 48)
        assert summary.median_abs_error == pytest.approx(2 / 48)
        assert summary.p90_abs_error == pytest.approx(2 / 48)


def test_a_total_that_is_off_does_not_agree_whatever_the_share(tmp_path: Path, make_run: Make) -> None:
    [row] = published(tmp_path, "s1,50,fq,fq_codel,cubic,20,40,cubic,20,40,180,60")
    cell = cells(make_run, (20.0, 20.0)).match(row)
    assert cell is not None
    judged = judge(row, cell, Noise())
    assert not judged.agrees
    assert judged.total_error == pytest.approx(-0.5)
    assert summarise([judged])[0].totals_within_1_percent == 0.0


def test_a_sender_is_summarised_by_its_own_flows(tmp_path: Path, make_run: Make) -> None:
    [row] = published(tmp_path, "s1,50,fq,fq_codel,cubic,20,20,reno,20,20,180,60")
    cell = cells(make_run, (20.0, 30.0), ccs=("cubic", "reno")).match(row)
    assert cell is not None
    judged = judge(row, cell, Noise())
    assert [value.agrees for value in judged.values] == [True, False]
    found = {summary.group: summary for summary in summarise([judged])}
    assert (found["all"].coverage, found["cubic"].coverage, found["reno"].coverage) == (0, 1, 0)
    assert found["reno"].median_bias == pytest.approx(0.25)


def test_flows_are_matched_in_either_order(tmp_path: Path, make_run: Make) -> None:
    [row] = published(tmp_path, "s1,50,fq,fq_codel,reno,80,10,cubic,20,37,180,60")
    cell = cells(make_run, (36.0, 11.0), ccs=("cubic", "reno"), delays=("10ms", "40ms")).match(row)
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
def test_what_was_not_run_matches_nothing(tmp_path: Path, make_run: Make, line: str) -> None:
    [row] = published(tmp_path, line)
    assert cells(make_run, (20.0, 27.0)).match(row) is None


def test_runs_with_events_are_no_steady_cells(tmp_path: Path, make_run: Make) -> None:
    [row] = published(tmp_path, "s2,50,fq,fq_codel,cubic,20,40,,,,180,60")
    one: dict[str, Any] = {"ccs": ("cubic",), "delays": ("10ms",)}
    step = {"name": "step", "when": {"at": "30s"}, "actions": []}
    assert cells(make_run, (40.0,), **one, events=[step]).match(row) is None
    cell = cells(make_run, (40.0,), **one).match(row)
    assert cell is not None
    assert judge(row, cell, Noise()).agrees


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
