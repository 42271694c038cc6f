"""``sojourn shell`` and ``--engine live``. A machine without namespaces skips tests that need them, and says why."""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from sojourn.cli.status_line import line
from sojourn.core.scenario import Scenario
from sojourn.core.store import Folder
from sojourn.quick.line import Line

HTTP = f"{sys.executable} -m http.server 8000 --bind 10.9.9.1 --directory"
FETCH = (
    "import time, urllib.request\n"
    "while True:\n"
    "    try:\n"
    "        print(len(urllib.request.urlopen('http://server:8000/file').read()))\n"
    "        break\n"
    "    except OSError: time.sleep(0.05)\n"
)


def sojourn(*words: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sojourn", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **environment},
    )


@pytest.fixture(scope="module")
def allowed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whether this machine allows namespaces to this user."""
    ran = sojourn("shell", "-q", "--", "true", cwd=tmp_path_factory.mktemp("probe"))
    if "namespaces" in ran.stderr:
        pytest.skip(f"no namespaces: {ran.stderr.strip()}")


@pytest.mark.usefixtures("allowed")
def test_a_download_gives_results_and_an_experiment_to_simulate(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(400_000))
    ran = sojourn(
        "shell", "--rate", "20mbit", "--up", "5mbit", "--rtt", "20ms", "--qdisc", "dualpi2", "--cc", "reno", "--ecn",
        "--server", f"{HTTP} {shlex.quote(str(tmp_path))}", "--save", "seen.toml", "--pcap", "-o", "r", "--",
        sys.executable, "-c", FETCH, cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("400000\n")
    [record] = Folder.open(tmp_path / "r").records()
    assert {"client.pcap", "server.pcap", "bottleneck.left.pcap"} <= {file.name for file in record.captures}
    assert "server.log" in record.texts
    assert "GET /file" in record.text("server.log").decode()
    seen = (tmp_path / "seen.toml").read_text()
    # The response's header is payload, too.
    sizes = [int(size) for size in re.findall(r'bytes = "(\d+)b"', seen)]
    assert any(400_000 < size < 401_000 for size in sizes), seen
    assert 'cc = "reno"' in seen
    assert 'ecn = "rfc3168"' in seen
    simulated = sojourn("run", "seen.toml", "-o", "simulated", "-q", cwd=tmp_path)
    assert simulated.returncode == 0, simulated.stderr
    table = sojourn("table", "r", "mean(queue_delay, bottleneck.down.qdisc)", "--json", cwd=tmp_path)
    assert table.returncode == 0, table.stderr


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize(("words", "status"), [(["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -TERM $$"], 143)])
def test_the_status_is_the_command_s(tmp_path: Path, words: list[str], status: int) -> None:
    assert sojourn("shell", "-q", "--", *words, cwd=tmp_path).returncode == status


@pytest.mark.usefixtures("allowed")
def test_a_command_that_is_too_long_is_ended(tmp_path: Path) -> None:
    ran = sojourn("shell", "--duration", "300ms", "--", "sleep", "100", cwd=tmp_path)
    assert ran.returncode == 124
    assert "stopped the command after 300ms" in ran.stderr


@pytest.mark.usefixtures("allowed")
def test_a_shell_is_changed_from_another_terminal(tmp_path: Path) -> None:
    doors = tmp_path / "doors"
    doors.mkdir(mode=0o700)
    here = {"XDG_RUNTIME_DIR": str(doors)}
    nobody = sojourn("shell", "set", "rate", "10mbit", cwd=tmp_path, **here)
    assert nobody.returncode == 2
    assert "no shell runs" in nobody.stderr
    command = [sys.executable, "-m", "sojourn", "shell", "-q", "--save", "seen.toml", "--", "sh", "-c"]
    command += ["while ! test -e over; do sleep 0.05; done"]
    with subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **here}) as shell:
        try:
            end = time.monotonic() + 60
            while not list(doors.glob("sojourn/shell-*")) and time.monotonic() < end:
                time.sleep(0.05)
            [door] = doors.glob("sojourn/shell-*")
            assert door.stat().st_mode & 0o777 == 0o600
            for words in (["rate", "10mbit"], ["qdisc", "pie ecn"], ["rtt", "50ms"]):
                ran = sojourn("shell", "set", *words, cwd=tmp_path, **here)
                assert ran.returncode == 0, ran.stderr
            wrong = sojourn("shell", "set", "rat", "1mbit", cwd=tmp_path, **here)
            assert (wrong.returncode, "did you mean rate?" in wrong.stderr) == (2, True)
            status = json.loads(sojourn("shell", "status", cwd=tmp_path, **here).stdout)
            assert status is None or len(status["queues"]) == 2
        finally:
            (tmp_path / "over").touch()
        assert shell.wait(timeout=60) == 0
    assert not list(doors.glob("sojourn/shell-*"))
    seen = (tmp_path / "seen.toml").read_text()
    for part in ('rate = "10Mbit"', 'replace = "pie ecn"', 'rtt = "50ms"'):
        assert part in seen, seen


@pytest.mark.usefixtures("allowed")
def test_the_last_line_of_a_terminal_has_the_status(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    command = [sys.executable, "-m", "sojourn", "shell", "-q", "--", "sh", "-c"]
    # Until something is shown: the first status comes after a second.
    command += ["while ! test -e over; do sleep 0.1; done; echo done"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs) as shell:
        os.close(theirs)
        shown = b""
        while b"Mbit/s" not in shown:
            shown += os.read(ours, 4096)
        (tmp_path / "over").touch()
        with contextlib.suppress(OSError):
            while part := os.read(ours, 4096):
                shown += part
        assert shell.wait(timeout=60) == 0
    os.close(ours)
    assert b"\x1b[1;23r" in shown, "what scrolls leaves the last line alone"
    assert b"\x1b[24;1H" in shown
    assert shown.rindex(b"\x1b[r") > shown.rindex(b"\x1b[1;23r"), "the line is given back"
    assert b"done\r\n" in shown


def status(process: Path) -> list[str]:
    """A process's state and its parent's number (proc_pid_stat(5)); nothing once it has ended."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return []


def parent(process: Path) -> int | None:
    found = status(process)
    return int(found[1]) if found else None


def is_running(process: Path) -> bool:
    """Whether a process is still there a second later."""
    for _ in range(20):
        if status(process)[:1] in ([], ["Z"]):
            return False
        time.sleep(0.05)
    return True


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("more", [(), ("--internet",)])
def test_a_killed_shell_leaves_no_process(tmp_path: Path, more: tuple[str, ...]) -> None:
    if more and shutil.which("pasta") is None:
        pytest.skip("pasta is not installed (apt install passt)")
    script = "while :; do sleep 0.02; touch alive; done"
    command = [sys.executable, "-m", "sojourn", "shell", "-q", *more, "--", "sh", "-c", script]
    with subprocess.Popen(command, cwd=tmp_path) as shell:
        end = time.monotonic() + 60
        while not (tmp_path / "alive").exists() and time.monotonic() < end:
            time.sleep(0.05)
        started = [process for process in Path("/proc").glob("[0-9]*") if parent(process) == shell.pid]
        shell.kill()
    # The helper, and pasta.
    assert len(started) == 1 + len(more)
    assert not [process for process in started if is_running(process)]
    time.sleep(0.5)
    (tmp_path / "alive").unlink()
    time.sleep(0.5)
    assert not (tmp_path / "alive").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cc", "no_such_control", "--", "true"), "has no congestion control no_such_control"),
        (("--rate", "20", "--", "true"), "has no unit"),
        (("--qdisc", "dualpi3", "--", "true"), "dualpi3"),
        (("dance",), "there is no 'dance'"),
        (("set", "rate", "1mbit", "--", "true"), "exclude each other"),
        (("--server", "'", "--", "true"), "No closing quotation"),
        (("--pid", "1", "--", "true"), "--pid goes with set and status"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    ran = sojourn("shell", *words, cwd=tmp_path)
    assert ran.returncode == 2
    assert said in re.sub(r"[\s│]+", " ", ran.stderr), ran.stderr


@pytest.mark.usefixtures("allowed")
def test_an_experiment_runs_live_and_repeats(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(
        '[experiment]\nname = "e"\nduration = "1s"\nping = false\nwarmup = "0s"\n[[hop]]\nname = "b"\nrate = "10mbit"\n'
        'qdisc = "fq_codel"\nrtt = "10ms"\n[[flow]]\nname = "f"\ncc = "reno"\n'
    )
    ran = sojourn("run", file, "-o", "r", "--engine", "live", "--repeat", "2", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert len(Folder.open(tmp_path / "r").records()) == 2
    [cell] = json.loads(ran.stdout)["cells"]
    assert cell["seeds"] == [1, 1]
    again = sojourn("run", file, "-o", "r", "--engine", "live", "--repeat", "2", cwd=tmp_path)
    assert "2 of 2 runs are in r already" in again.stderr
    assert "are identical on sim" in sojourn("run", file, "-o", "s", "--repeat", "2", cwd=tmp_path).stderr


RENO = '[[flow]]\nname = "f"\ncc = "reno"\n'
PROGRAM = """
[[flow]]
name = "page"

[flow.program]
server = ["/usr/bin/python3", "-m", "http.server", "80", "--directory", "www"]
client = ["/usr/bin/python3", "get.py"]
ready = "port 80"

[flow.program.files]
"www/file" = "some text"
"get.py" = '''
import urllib.request
print(urllib.request.urlopen("http://server/file").read().decode())
'''
"""


def _experiment(tmp_path: Path, more: str) -> Path:
    file = tmp_path / "e.toml"
    file.write_text(
        '[experiment]\nname = "e"\nstack = "host"\nduration = "3s"\nping = false\nwarmup = "0s"\n[[hop]]\nname = "b"\n'
        f'rate = "10mbit"\nqdisc = "fq_codel"\nrtt = "10ms"\n{more}'
    )
    return file


@pytest.mark.usefixtures("allowed")
def test_programs_of_an_experiment_run_live(tmp_path: Path) -> None:
    window = '[[window]]\nname = "all"\nfrom = "0s"\nto = "3s"\n'
    event = '[[event]]\nname = "slower"\nat = "flow page ends + 100ms"\nhop = "b"\nrate = "5mbit"\n'
    file = _experiment(tmp_path, PROGRAM + window + event)
    ran = sojourn("run", file, "-o", "r", "--engine", "live", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    [record] = Folder.open(tmp_path / "r").records()
    output = record.table("output")
    lines = list(zip(output["flow"], output["program"], output["text"], strict=True))
    assert ("page", "client", "some text") in lines
    assert any(program == "server" and "GET /file" in text for _, program, text in lines), lines
    assert "event slower" in set(record.table("events")["subject"])
    table = sojourn("table", "r", "median(completion_time, page) over all", "--json", cwd=tmp_path)
    assert table.returncode == 0, table.stderr
    failing = _experiment(tmp_path, PROGRAM.replace("server/file", "server/none"))
    failed = sojourn("run", failing, "-o", "s", "--engine", "live", cwd=tmp_path)
    assert failed.returncode == 1, failed.stderr
    assert "flow page: its client ended with exit status 1; expected: exit status 0" in failed.stderr
    assert "HTTP Error 404" in failed.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            PROGRAM.replace("/usr/bin/python3", "no-such-python"),
            "flow page: the server no-such-python: this machine has no such program",
        ),
        (PROGRAM.replace("ready =", 'cpu_limit = "2s"\nready ='), "flow page: cpu_limit: this machine's clock goes on"),
        (
            f'{RENO}[[event]]\nname = "e"\nat = "flow f ssthresh > 9"\nhop = "b"\nrate = "1mbit"\n',
            "event e: ssthresh of flow f: a kernel shows a TCP sender's cwnd, and no other number of a flow",
        ),
    ],
)
def test_the_live_engine_names_what_it_cannot_run(tmp_path: Path, more: str, said: str) -> None:
    ran = sojourn("run", _experiment(tmp_path, more), "-o", "r", "--engine", "live", cwd=tmp_path)
    assert ran.returncode == 2, ran.stderr
    assert said in ran.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.usefixtures("allowed")
def test_a_queue_in_python_holds_real_packets(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text((Path(__file__).parent / "own_classes.py").read_text())
    file = _experiment(tmp_path, RENO)
    file.write_text(file.read_text().replace('"fq_codel"', '"python:own.py:Fifo limit 10"'))
    ran = sojourn("run", file, "-o", "r", "--engine", "live", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    [record] = Folder.open(tmp_path / "r").records()
    assert re.search(r"python own.py [0-9a-f]{64}", record.key.version)
    signals = record.table("queue_signals")
    assert set(signals["reason"]) == {"tail"}
    queues = record.table("queues")
    assert 0 < max(queues["packets"].to_list()) <= 10
    refused = _experiment(tmp_path, RENO.replace("reno", "python:own.py:Reno"))
    ran = sojourn("run", refused, "-o", "s", "--engine", "live", cwd=tmp_path)
    assert (ran.returncode, "a kernel runs no Python" in ran.stderr) == (2, True), ran.stderr


def test_the_host_s_kernel_is_a_stack_of_the_live_engine_alone(tmp_path: Path) -> None:
    file = _experiment(tmp_path, RENO)
    text = file.read_text()
    refused = sojourn("run", file, "-o", "r", cwd=tmp_path)
    assert refused.returncode == 2, refused.stderr
    assert "experiment: stack host: its hosts are not this machine's kernel" in refused.stderr
    assert "--engine live" in refused.stderr
    assert refused.stderr.count("stack host") == 1, refused.stderr
    assert not (tmp_path / "r").exists()
    file.write_text(text.replace('"host"', '"hots"'))
    wrong = sojourn("run", file, "-o", "r", cwd=tmp_path)
    assert (wrong.returncode, 'did you mean "host"?' in wrong.stderr) == (2, True), wrong.stderr


def test_the_status_names_queues_and_the_flows_that_send() -> None:
    queue = {
        "name": "bottleneck.up.qdisc",
        "rate_bps": 1e6,
        "packets": 2,
        "sojourn_p50_s": None,
        "sojourn_p99_s": 0.0151,
        "marks": 0,
        "drops": 3,
    }
    flows = [
        {"name": f"flow-{n}", "marks": 0, "drops": n, "silent_s": 0.1 * n, "down_bytes": n, "up_bytes": 0}
        for n in range(1, 30)
    ]
    text = line({"queues": [queue], "flows": flows})
    assert "↑ 1.0 Mbit/s, 2 packets, p50 -, p99 15.1 ms, 0 marks, 3 drops" in text
    assert "flow-19" in text
    assert "flow-21" not in text


def test_what_was_seen_becomes_flows_and_events() -> None:
    flows = [
        {
            "name": "flow-1",
            "direction": "up",
            "start": {"at": "1ms"},
            "stop": "2s",
            "traffic": {"kind": "udp", "rate": "1Mbit", "payload": 100, "ecn": "Not-ECT"},
        },
        {
            "name": "flow-2",
            "direction": "down",
            "start": {"at": "0s"},
            "traffic": {"kind": "tcp", "cc": "cubic", "ecn": "off", "bytes": 7, "receive_window": "autotune"},
        },
    ]
    scenario = Scenario(duration="3s", flows=flows)
    changes = [
        (0.5, "bottleneck.down.qdisc: rate 2Mbit"),
        (1.0, "bottleneck.down.netem: delay 7.5ms"),
        (1.0, "bottleneck.up.netem: delay 7.5ms"),
        (1.5, "elsewhere"),
    ]
    text = Line("1mbit", "10ms", "pie", None).of_run(scenario, changes)
    assert 'at = "500ms"\nhop = "bottleneck"\nside = "down"\nrate = "2Mbit"' in text
    assert text.count('rtt = "15ms"') == 1
    assert text.count("[[event]]") == 2
    assert 'direction = "up"\nstart = "1ms"\nstop = "2s"' in text
    assert 'bytes = "7b"' in text


def test_the_internet_takes_the_place_of_the_server(tmp_path: Path) -> None:
    ran = sojourn("shell", "--internet", "--server", "true", "--", "true", cwd=tmp_path)
    assert ran.returncode == 2
    assert "--internet and --server exclude each other" in ran.stderr


@pytest.mark.usefixtures("allowed")
def test_without_pasta_the_error_names_the_package(tmp_path: Path) -> None:
    ran = sojourn("shell", "--internet", "--", sys.executable, "-c", "", cwd=tmp_path, PATH="/nonexistent")
    assert ran.returncode == 1
    assert "package passt" in ran.stderr
