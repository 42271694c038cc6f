"""QUIC flows as people meet them: in a file, in tables, and where they are refused."""

import json
from pathlib import Path

import pytest

import sojourn
from sojourn import _core
from sojourn.errors import ExperimentError
from sojourn.interop.flent.series import is_tcp
from test_cli import sojourn as sojourn_command

TEXT = """
[experiment]
name = "quic"
duration = "4s"
ping = false
[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
qdisc = "fq_codel"
[[flow]]
name = "quic"
quic = { stack = "quinn", cc = "newreno" }
[[flow]]
name = "tcp"
"""


def test_a_quic_flow_has_the_columns_of_a_tcp_flow() -> None:
    [run] = sojourn.parse(TEXT, "quic.toml").run()
    rows = run.flows.filter(run.flows["flow"] == "quic")
    last = rows.row(-1, named=True)
    for column in ("goodput_bps", "delivery_rate_bps", "rtt_s", "srtt_s", "cwnd", "inflight", "delivered"):
        assert last[column] > 0, column
    assert 0.8 < run.metric("mean(goodput, quic)") / run.metric("mean(goodput, tcp)") < 1.2
    flows = {flow["name"]: flow for flow in run.scenario.flows}
    assert {name: flow.sender for name, flow in flows.items()} == {"quic": "quinn/newreno", "tcp": "cubic"}
    assert {name: is_tcp(flow) for name, flow in flows.items()} == {"quic": False, "tcp": True}


def test_an_unknown_control_is_refused_with_its_place() -> None:
    with pytest.raises(ExperimentError) as refused:
        sojourn.parse(TEXT.replace("newreno", "newrino"), "quic.toml").run()
    said = str(refused.value)
    assert "quic.toml:13:33" in said
    assert 'there is no congestion control of quinn "newrino"' in said
    assert 'did you mean "newreno"?' in said


def test_the_linux_engine_refuses_it_by_name() -> None:
    [key] = sojourn.parse(TEXT, "quic.toml").run_keys
    refusals = _core.refusals([key.resolved], engine="linux")
    assert any("quic" in str(refusal) and "traffic quic" in str(refusal) for refusal in refusals)


def test_try_takes_one_and_names_what_is_wrong_with_it(tmp_path: Path) -> None:
    ran = sojourn_command("try", "noq/newreno", "cubic", "--rate", "10mbit", "--duration", "3s", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    [queue] = json.loads(ran.stdout)["queues"]
    assert any(sentence.startswith("noq-newreno gets") for sentence in queue["answer"])
    wrong = sojourn_command("try", "nok/newreno", cwd=tmp_path)
    assert wrong.returncode == 2
    assert 'there is no QUIC stack "nok"' in wrong.stderr
    assert 'did you mean "noq"?' in wrong.stderr
