"""Flows of a TCP by other authors as people meet them: in a file, in tables, and where they are refused."""

import json
from pathlib import Path

import pytest

import sojourn
from sojourn import _core
from sojourn.errors import ExperimentError
from sojourn.interop.flent.series import is_tcp
from sojourn.interop.qlog.export import connections
from sojourn.plotting.draw.series import binned_flows
from test_cli import sojourn as sojourn_command

TEXT = """
[experiment]
name = "tcp"
duration = "8s"
ping = false
[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
qdisc = "fq_codel"
[[flow]]
name = "device"
tcp = { stack = "smoltcp", cc = "cubic" }
[[flow]]
name = "linux"
"""


def test_a_flow_has_the_columns_that_its_packets_tell() -> None:
    [run] = sojourn.parse(TEXT, "tcp.toml").run()
    rows = run.flows.filter(run.flows["flow"] == "device")
    last = rows.row(-1, named=True)
    for column in ("goodput_bps", "rtt_s", "inflight", "delivered"):
        assert last[column] > 0, column
    for column in ("srtt_s", "delivery_rate_bps", "pacing_rate_bps"):
        assert last[column] is None or last[column] != last[column], column
    assert last["cwnd"] == 0
    assert run.metric("mean(goodput, device)") > 5e6
    # A figure draws the samples of its RTT, for it reports no smoothed one.
    _, rtt = binned_flows(run, 1.0)["device"]
    assert all(20 < value < 60 for value in rtt.value[1:-1]), rtt.value
    flows = {flow["name"]: flow for flow in run.scenario.flows}
    assert {name: flow.sender for name, flow in flows.items()} == {"device": "smoltcp/cubic", "linux": "cubic"}
    assert {name: is_tcp(flow) for name, flow in flows.items()} == {"device": True, "linux": True}
    assert [flow.name for flow in connections(run.scenario)] == ["linux"], "qlog needs a window"


@pytest.mark.parametrize(
    ("wrong", "place", "said"),
    [
        ('stack = "smoltcp", cc = "cubik"', "tcp.toml:13:34", 'did you mean "cubic"?'),
        ('stack = "smoltcp", ecn = "rfc3168"', "tcp.toml:13:34", "smoltcp has no ecn: it sends Not-ECT"),
        ('stack = "smoltcp", initial_window = 10', "tcp.toml:13:45", "smoltcp has no initial_window"),
        ('stack = "lwip"', "tcp.toml:13:18", 'there is no TCP stack "lwip"'),
        ('cc = "cubic"', "tcp.toml:13", "stack"),
    ],
)
def test_what_there_is_not_is_refused_with_its_place(wrong: str, place: str, said: str) -> None:
    with pytest.raises(ExperimentError) as refused:
        sojourn.parse(TEXT.replace('stack = "smoltcp", cc = "cubic"', wrong), "tcp.toml").run()
    assert place in str(refused.value)
    assert said in str(refused.value)


def test_the_linux_engine_refuses_it_by_name() -> None:
    [key] = sojourn.parse(TEXT, "tcp.toml").run_keys
    refusals = _core.refusals([key.resolved], engine="linux")
    assert any("device" in str(refusal) and "traffic tcp_stack" in str(refusal) for refusal in refusals)


def test_try_takes_one_and_conformance_does_not(tmp_path: Path) -> None:
    ran = sojourn_command(
        "try", "smoltcp/reno", "cubic", "--ecn", "off", "--rate", "10mbit", "--duration", "3s", "--json", cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    [queue] = json.loads(ran.stdout)["queues"]
    assert any(sentence.startswith("smoltcp-reno gets") for sentence in queue["answer"])
    wrong = sojourn_command("try", "smoltcp/bbr", cwd=tmp_path)
    assert wrong.returncode == 2
    assert 'there is no congestion control of smoltcp "bbr"' in wrong.stderr
    judged = sojourn_command("conformance", "bbr", "--quic", "smoltcp/reno", cwd=tmp_path)
    assert judged.returncode == 2
    assert "smoltcp does not report its window" in judged.stderr
