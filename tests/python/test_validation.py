import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

from conftest import Make
from sojourn.core.store import Folder
from sojourn.errors import UsageError
from sojourn.evidence.validation import (
    Cell,
    Cells,
    Noise,
    Row,
    against,
    judge,
    markdown,
    read_published,
    summarise,
    totals,
)
from test_cli import sojourn

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
    # The published shares' own noise and nothing else: ours are by the same estimator.
    assert first.noise == second.noise == pytest.approx(1.96 * 0.02 * 48)
    assert (first.bias, second.bias) == pytest.approx((2 / 48, -2 / 48))
    assert judged.seeds == 3
    assert judged.sum_error == pytest.approx(0)
    assert judged.share_error == pytest.approx(24 / 48 - 22 / 48)
    assert first.agrees
    assert second.agrees
    assert judged.agrees
    assert not judge(row, cell, Noise()).agrees

    everything, queue, sender = summarise([judged])
    assert (everything.by, queue.group, sender.group) == ("all", "fifo", "cubic")
    for summary in (everything, queue, sender):
        assert (summary.rows, summary.coverage, summary.sums_within_1_percent) == (1, 1.0, 1.0)
        assert summary.median_bias == pytest.approx(2 / 48)
        assert summary.median_abs_error == pytest.approx(2 / 48)
        assert summary.p90_abs_error == pytest.approx(2 / 48)


def test_a_delivery_rate_is_widened_by_nothing_of_its_own(tmp_path: Path, make_run: Make) -> None:
    """The estimator's bias is in both, so a value half a percent off our range is off."""
    [row] = published(tmp_path, "s1,50,fq,fq_codel,cubic,20,40,,,,180,60")
    one: dict[str, Any] = {"ccs": ("cubic",), "delays": ("10ms",)}
    near = cells(make_run, (40.2,), (40.2,), **one).match(row)
    there = cells(make_run, (39.9,), (40.1,), **one).match(row)
    assert near is not None
    assert there is not None
    assert not judge(row, near, Noise()).agrees
    assert judge(row, there, Noise()).agrees
    assert judge(row, near, Noise()).share_error is None


def test_totals_tell_shares_from_single_flows_and_phases(tmp_path: Path, make_run: Make) -> None:
    rows = published(
        tmp_path,
        "s1,50,fq_codel,fq_codel,cubic,20,24,cubic,20,24,180,60",
        "s1,50,pfifo(1000),pfifo limit 1000,cubic,20,30,cubic,20,18,180,60",
        "s1,50,fq_codel,fq_codel,cubic,20,48,,,,180,60",
        "s1,50,dualpi2,dualpi2,cubic,20,40,,,,180,60",
    )
    two = {"seconds": 180, "delays": ("10ms", "10ms")}
    one = {"seconds": 180, "delays": ("10ms",), "ccs": ("cubic",)}
    fq, fifo, alone, phase = (
        judge(row, cell, Noise())
        for row, cell in zip(
            rows,
            [
                cells(make_run, (24.0, 24.0), (24.2, 23.8), (23.8, 24.2), **two).match(rows[0]),
                cells(make_run, (24.0, 24.0), qdisc="pfifo limit 1000", **two).match(rows[1]),
                cells(make_run, (48.0,), **one).match(rows[2]),
                cells(make_run, (44.0,), qdisc="dualpi2", **one).match(rows[3]),
            ],
            strict=True,
        )
        if cell is not None
    )
    phase = dataclasses.replace(phase, row=dataclasses.replace(phase.row, part="after"))
    found = totals([fq, fifo, alone, phase])
    assert [(t.kind, t.family, t.rows, t.agree, t.close) for t in found] == [
        ("several flows", "fq_codel", 1, 1, 1),
        ("several flows", "pfifo", 1, 0, 1),
        ("several flows", "", 2, 1, 2),
        ("one flow", "", 1, 1, 1),
        ("phases of one run", "", 1, 0, 0),
        ("", "", 4, 2, 3),
    ]
    # 24 of 48 where 30 of 48 was published.
    assert found[2].share_errors == pytest.approx([0, 6 / 48])
    assert [t.rows for t in totals([fq, fifo, alone, phase], lambda j: j is not fifo)] == [1, 1, 1, 1, 3]
    table = markdown.totals_table("these", found).splitlines()
    assert table[2] == "| several flows, fq_codel | 1 | 1 | 100 % | 0.0000 | 0.0000 | 1 of 1 |"
    assert table[5] == "| one flow | 1 | 1 | 100 % | – | – | 1 of 1 |"
    with pytest.raises(ValueError, match="of no family of queues: sfq"):
        totals([dataclasses.replace(fq, row=dataclasses.replace(fq.row, queue="sfq"))])


def test_a_sum_that_is_off_does_not_agree_whatever_the_share(tmp_path: Path, make_run: Make) -> None:
    [row] = published(tmp_path, "s1,50,fq,fq_codel,cubic,20,40,cubic,20,40,180,60")
    cell = cells(make_run, (20.0, 20.0)).match(row)
    assert cell is not None
    judged = judge(row, cell, Noise())
    assert not judged.agrees
    assert judged.sum_error == pytest.approx(-0.5)
    assert summarise([judged])[0].sums_within_1_percent == 0.0


def test_a_sender_is_summarised_by_its_own_flows(tmp_path: Path, make_run: Make) -> None:
    [row] = published(tmp_path, "s1,50,fq,fq_codel,cubic,20,20,reno,20,20,180,60")
    cell = cells(make_run, (20.0, 30.0), ccs=("cubic", "reno")).match(row)
    assert cell is not None
    judged = judge(row, cell, Noise())
    assert [value.agrees for value in judged.values] == [True, False]
    found = {summary.group: summary for summary in summarise([judged])}
    assert (found["all"].coverage, found["cubic"].coverage, found["reno"].coverage) == (0, 1, 0)
    assert found["reno"].median_bias == pytest.approx(0.25)


def test_a_mark_at_the_start_of_a_file_is_no_part_of_a_name(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("\ufeff" + HEADER + "s1,50,fifo,pfifo limit 1000,cubic,20,22,cubic,10,26,180,60\n")
    assert len(read_published(file)) == 1


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "NaN"])
def test_what_was_published_is_a_number(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageError, match="not a number"):
        published(tmp_path, f"s1,50,fifo,pfifo limit 1000,cubic,20,{value},cubic,10,26,180,60")


def test_flows_are_matched_in_either_order(tmp_path: Path, make_run: Make) -> None:
    [row] = published(tmp_path, "s1,50,fq,fq_codel,reno,80,10,cubic,20,37,180,60")
    cell = cells(make_run, (36.0, 11.0), ccs=("cubic", "reno"), delays=("10ms", "40ms")).match(row)
    assert cell is not None
    assert cell.values(row.figures) == [pytest.approx((11.0, 36.0))]


def test_flows_of_one_cell_may_stand_in_both_orders(tmp_path: Path, make_run: Make) -> None:
    """At equal RTT the cells cubic-reno and reno-cubic are one: each run has its own order of flows."""
    [row] = published(tmp_path, "s1,50,fq,fq_codel,cubic,20,30,reno,20,10,180,60")
    found = Cells()
    found.add(make_run((30.0, 10.0), ccs=("cubic", "reno"), seed=1))
    found.add(make_run((10.0, 30.0), ccs=("reno", "cubic"), seed=1))
    cell = found.match(row)
    assert cell is not None
    assert cell.values(row.figures) == [pytest.approx((30.0, 10.0))] * 2
    assert judge(row, cell, Noise()).agrees


ECT1 = (
    "run,scenario,rate_mbit,rate1_mbit,qdisc,qdisc1,qdisc_tc,rtt_ms,netem_data_dir,length_s,stream_delays,flow,cc,"
    "both_rate_mbps,both_rtt_mean_ms\n"
    'two,s2,50,,pie,,pie ecn,20,root handle 1: netem delay 10ms limit 1000000,40,"0,10",1,cubic,20,36\n'
    'two,s2,50,,pie,,pie ecn,20,root handle 1: netem delay 10ms limit 1000000,40,"0,10",2,prague,27,35\n'
    "bursty,s5,50,,dualpi2,,dualpi2,20,root handle 1: netem delay 10ms | parent 1:1 handle 10:1 netem delay 200us "
    "slot 800us 10ms,60,,1,prague,6,30\n"
    "shift,l4s-s3,50,,dualpi2,pie(noecn),dualpi2,20,root handle 1: netem delay 10ms,60,,1,prague,46,25\n"
    "step,l4s-s4,50,5,dualpi2,,dualpi2,20,root handle 1: netem delay 10ms,60,,1,prague,28,23\n"
)


@pytest.fixture
def ect1(tmp_path: Path) -> Path:
    """Return a table like ``ect1.csv``, which others look for in their folder."""
    file = tmp_path / "ect1.csv"
    file.write_text(ECT1)
    return file


def test_the_rerun_is_measured_over_the_window_of_both_flows(ect1: Path) -> None:
    two, bursty = read_published(ect1)
    assert [sender.start_s for sender in two.senders] == [0, 10]
    # 40 s less the second's delay of 10 s, less 10 s at its beginning and 2 s at the end.
    assert {figure.ask.split(" ", 1)[1] for figure in two.figures if figure.is_rate} == {"over last 18s before 2s"}
    assert [figure.published for figure in two.figures] == [20, 27, 36, 35]
    assert bursty.besides == ("netem delay 200us slot 800us 10ms",)
    assert bursty.figures[0].ask.endswith("over last 48s before 2s")


def test_phases_are_rows_of_runs_with_a_changing_bottleneck(ect1: Path) -> None:
    file = ect1.with_name("ect1_phases.csv")
    header = "run,phase,delivery_mean_mbps,rtt_mean_ms\n"
    file.write_text(header + "shift,1-before(after 5s),47,20.6\nstep,3b-after settled,46,20.5\n")
    shift, step = read_published(file)
    assert (shift.part, step.part) == ("before", "after")
    assert shift.besides == ("replace pie noecn", "replace dualpi2")
    assert step.besides == ("rate 5mbit", "rate 50mbit")
    assert step.figures[1].ask == "mean(srtt, {flow}) during after"


def test_captures_that_ended_early_are_left_out(ect1: Path) -> None:
    file = ect1.with_name("ect1_pcap.csv")
    header = "run,flow,pcap_truncated,both_goodput_mbps,both_ce_frac,both_n_ce,both_qd_mean_ms,both_qd_p99_ms\n"
    file.write_text(
        header + "two,1,False,20.5,0.0004,16,15.2,23.6\ntwo,2,False,27,0.0005,25,15.4,\n"
        "bursty,1,True,5.9,0.01,348,4,9\n"
    )
    [two] = read_published(file)
    marks = next(figure for figure in two.figures if figure.quantity == "CE fraction")
    # 16 marks, hence 1.96 · 4 of 16: 49 % of the fraction.
    assert marks.noise == pytest.approx(0.49 * 0.04)
    assert [f.published for f in two.figures if f.quantity == "queue delay, mean"] == [15.2, 15.4]
    # By the table's own definition: the way less the least of the run, which is the first flow's.
    [p99] = [f for f in two.figures if f.quantity == "queue delay, 99 %"]
    assert p99.ask == "p99(packet_owd, {flow}) over last 18s before 2s - min(packet_owd, {first}) over all"


def test_a_row_of_which_our_runs_lack_a_value_is_named_and_the_others_stand(
    ect1: Path, tmp_path: Path, make_run: Make
) -> None:
    file = ect1.with_name("ect1_pcap.csv")
    header = "run,flow,pcap_truncated,both_goodput_mbps,both_ce_frac,both_n_ce,both_qd_mean_ms,both_qd_p99_ms\n"
    file.write_text(header + "bursty,1,False,5.9,0.01,348,4,9\n")
    jitter = ("delay 200us slot 800us 10ms",)
    run = make_run((6.0,), ccs=("prague",), delays=("10ms",), seconds=60, qdisc="dualpi2", jitter=jitter)
    results = tmp_path / "r"
    with Folder.create(results, version="0", command="sojourn run x") as folder:
        folder.add(run.key, {name: run.table(name) for name in run.tables}, command="sojourn run x")
    output = sojourn("validate", str(results), "--against", str(file))
    assert output.returncode == 2, output.stderr
    assert "Traceback" not in output.stderr
    assert "a published row cannot be compared: our runs lack a value" in output.stderr
    assert "line 2: 50 Mbit/s" in output.stderr
    assert "no value of" in output.stderr
    said = json.loads(sojourn("validate", str(results), "--against", str(file), "--json").stdout)
    assert [row["verdict"] for row in said["rows"]] == ["no value"]
    # Next to it is a row with all its values in the runs.
    rates = results.with_name("rates.csv")
    rates.write_text(HEADER + "s1,50,dualpi2,dualpi2,prague,20,6,,,,180,60\n")
    run = make_run((6.0,), ccs=("prague",), delays=("10ms",), seconds=180, qdisc="dualpi2")
    with Folder.create(results, version="0", command="sojourn run x") as folder:
        folder.add(run.key, {name: run.table(name) for name in run.tables}, command="sojourn run x")
    both = against([*read_published(file), *read_published(rates)], results, Noise())
    assert [judged.row.line for judged in both.judged] == [2]
    assert [own.row.scenario for own in both.unmeasured] == ["s5"]


def test_what_is_on_the_way_and_happens_is_part_of_a_cell(ect1: Path, make_run: Make) -> None:
    two, bursty = read_published(ect1)
    one: dict[str, Any] = {"ccs": ("prague",), "delays": ("10ms",), "seconds": 60, "qdisc": "dualpi2"}
    plain = cells(make_run, (6.0,), **one)
    assert plain.match(bursty) is None
    found = Cells()
    found.add(make_run((6.0,), **one, jitter=("delay 200us slot 800us 10ms",)))
    cell = found.match(bursty)
    assert cell is not None
    assert cell.values(bursty.figures[:1]) == [pytest.approx((6.0,))]
    late = cells(make_run, (20.0, 27.0), ccs=("cubic", "prague"), seconds=40, qdisc="pie ecn")
    assert late.match(two) is None, "Prague starts at once there"


def test_runs_of_the_iccrg(tmp_path: Path) -> None:
    file = tmp_path / "iccrg.csv"
    file.write_text(
        "run,link_mbit,aqm,n_flows,cca,base_rtt_ms,duration_s,goodput_20_40_mbps,srtt_mean_20_40_ms,qd_mean_20_40_ms\n"
        "Prague__20_5,20,dualpi2,1,prague,5,40,19.1,6.5,0.8\nCubic__500_80,500,fq_codel_tst,1,cubic,80,40,297,81,\n"
        "Cubic__500_40,500,fq_codel_tst,1,cubic,40,40,450,41.8,\nDCTCP__100_20,100,dualpi2,1,dctcp,20,40,51,20.7,\n"
        "C_P,100,fq_codel_tst,2,cubic,20,40,4.1,30,6.1\nC_P,100,fq_codel_tst,2,prague,20,40,91,26,\n"
    )
    prague, cubic, dctcp, both = read_published(file)
    assert [figure.quantity for figure in prague.figures] == ["goodput", "smoothed RTT, mean", "queue delay, mean"]
    assert (cubic.qdisc, len(cubic.figures)) == ("fq_codel flows 1", 2)
    assert dctcp.qdisc == "dualpi2 any_ect", "ECT(0) goes to L there"
    assert [sender.cc for sender in both.senders] == ["cubic", "prague"]
    assert [(f.flow, f.quantity) for f in both.figures if "queue" in f.quantity] == [(0, "queue delay, mean")]
    assert both.figures[2].ask == "mean(sojourn, {flow}) over last 20s before 0s"


def test_rewrites_identify_the_disproof(tmp_path: Path) -> None:
    file = tmp_path / "disproof_summary.csv"
    file.write_text(
        "exp,desc,series,metric,mean,mean_alone_2_10\n"
        "A,responsive,cubic40_tweaked,rtt_ms,21.4,\nA,responsive,cubic40_tweaked,rate_mbps,6.1,\n"
        "A,responsive,cubic50,rate_mbps,43.6,49.7\nA,responsive,C,ce_prob_pct,0.011,0.01\n"
        "D,responsive,cubic50,rate_mbps,26,49.7\n"
    )
    a, d = read_published(file)
    assert a.besides == ("ect0_to_ect1 of 2",)
    assert d.besides == ()
    assert [(figure.quantity, figure.flow) for figure in a.figures] == [
        ("RTT, mean", 1),
        ("goodput", 0),
        ("goodput", 1),
        ("marking", 0),
    ]


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
    step = {
        "name": "step",
        "when": {"at": "30s"},
        "actions": [{"do": "rate", "element": "bottleneck.down.qdisc", "rate": "5Mbit"}],
    }
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
    noise = Noise.of_table(tmp_path / "s1_50mbit.csv")
    assert noise.deviations[50.0, "fq", "diff"] == pytest.approx(0.1 / math.sqrt(2))
    assert noise.deviations[50.0, "fq", "cc_share1-.5"] == pytest.approx(math.sqrt((0.0009 + 0.0016) / 2))
    [mixed] = published(tmp_path, "s1,50,fq,fq_codel,prague,20,1,cubic,20,1,180,60")
    assert noise.share(mixed) == pytest.approx(0.1 / math.sqrt(2))
    assert Noise.of_table(tmp_path / "other.csv").share(mixed) is None


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
    with pytest.raises(UsageError, match=r"cannot read .*: No such file"):
        read_published(tmp_path / "nothing.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="is not a CSV file"):
        read_published(tmp_path / "bytes.csv")


def test_tables_for_documents(tmp_path: Path, make_run: Make) -> None:
    [row] = published(tmp_path, "s1,50,fq,fq_codel,cubic,20,20,cubic,20,27,180,60")
    cell = cells(make_run, (20.0, 25.0)).match(row)
    assert cell is not None
    judged = judge(row, cell, Noise())
    linux = judge(row, Cell(cell.runs), Noise())
    first, second = markdown.values_table([judged], {row.line: linux}).splitlines()[2:]
    assert first == (
        "| 50 Mbit/s, fq | cubic 20ms | delivery rate, Mbit/s | 20.00 | 20.00 | 20.00 – 20.00 | ± 0.00 "
        "| 20.00 (20.00 – 20.00) | agrees |"
    )
    assert second.endswith("| 25.00 (25.00 – 25.00) | **differs** |")
    assert "Linux" not in markdown.values_table([judged], {})
    assert markdown.summary_table(summarise([judged])).splitlines()[2].startswith("| delivery rate | all | 1 | 0 % |")


def test_steps_of_rtt_independence_are_parts_of_their_runs(tmp_path: Path) -> None:
    file = tmp_path / "rtt_independence.csv"
    header = "run,link_mbit,cc1,cc2,base_rtt1_ms,base_rtt2_ms,d1_20_98_mbps,d2_20_98_mbps,d1_50_98_mbps,d2_50_98_mbps\n"
    file.write_text(
        header + 'P_C,100,"prague(rtt_scaling=3,target 15ms)",cubic,0.5,0.5,50,45,51,44\n'
        'P_C,100,"prague(rtt_scaling=3,target 15ms)",cubic,5,5,59,36,60,35\n'
        'P_P,100,"prague(rtt_scaling=1,target 15ms)",prague(rtt_scaling=0),0.5,15,40,55,41,54\n'
    )
    first, second, other = read_published(file)
    assert first.senders == second.senders, "a run is known by what it begins with"
    assert [sender.scaling for sender in second.senders] == ["additive", ""]
    assert (second.part, other.part) == ("at 5 ms", "at 0.5 ms / 15 ms")
    assert [sender.scaling for sender in other.senders] == ["rate", "none"]
    assert second.figures[3].ask == "goodput({flow}) from 150s to 198s"
    file.write_text(header + "P_C,100,prague(rtt_scaling=9),cubic,0.5,0.5,50,45,51,44\n")
    with pytest.raises(UsageError, match='2: column cc1 has "prague'):
        read_published(file)
