"""``sojourn explore``, asked over HTTP: its answers on a folder, and the clients and requests that it refuses."""

import contextlib
import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

import in_pages
import sojourn
from by_hand import segments
from in_pages import FEW
from sojourn import _core
from sojourn.core.store import Folder, RunKey
from sojourn.errors import StoreError
from sojourn.explore import page
from sojourn.explore.catalogue import Catalogue
from sojourn.explore.measuring import Measuring
from sojourn.explore.server import Server
from sojourn.views.results import Results
from sojourn.views.run import Run

UNREAD = "nobody is to read this"


class Asking:
    """A client that sends exactly the given bytes."""

    def __init__(self, server: Server) -> None:
        self.port = server.port
        self.base = urlsplit(server.address).path

    def raw(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None and "Content_Length" not in headers:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def get(self, what: str = "") -> tuple[int, bytes]:
        answer, content = self.raw("GET", self.base + what)
        return answer.status, content

    def post(self, what: str, value: object, **headers: str) -> tuple[int, bytes]:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        answer, content = self.raw("POST", self.base + what, body, **{"Content_Type": "application/json", **headers})
        return answer.status, content

    def runs(self) -> dict[str, Any]:
        status, content = self.get("runs")
        assert status == 200, content
        found: dict[str, Any] = json.loads(content)
        return found

    def lines(self, what: str, value: object) -> list[dict[str, Any]]:
        status, content = self.post(what, value)
        assert status == 200, content
        return [json.loads(line) for line in content.splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explore")
    (folder / "few.toml").write_text(FEW)
    sojourn.load(folder / "few.toml").run(folder / "r")
    (folder / "secret.html").write_text(UNREAD)
    return folder / "r"


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """Return a folder to damage."""
    shutil.copytree(made, tmp_path / "r")
    (tmp_path / "secret.html").write_text(UNREAD)
    return tmp_path / "r"


def serving(folder: Path) -> Iterator[Asking]:
    with Server(Catalogue(Folder.open(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield Asking(server)
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def asking(made: Path) -> Iterator[Asking]:
    yield from serving(made)


@pytest.fixture
def of_own(folder: Path) -> Iterator[Asking]:
    yield from serving(folder)


def axis(runs: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (own for own in runs["axes"] if own["name"] == name)
    return dict(found)


# --- what it says -----------------------------------------------------------------------------------------------------


def test_the_runs_are_those_of_the_folder(asking: Asking, made: Path) -> None:
    runs = asking.runs()
    assert runs["runs"] == 8
    assert [own["name"] for own in runs["axes"]] == ["scenario", "queue", "rtt", "engine", "seed"]
    assert axis(runs, "rtt")["labels"] == ["20ms", "80ms"]
    assert axis(runs, "rtt")["at"] == [20.0, 80.0]
    assert axis(runs, "rtt")["title"] == "rtt (ms)"
    assert "at" not in axis(runs, "queue")
    briefs = [record.brief for record in Folder.open(made).records()]
    for name in ("queue", "rtt"):
        own = axis(runs, name)
        assert [own["labels"][code] for code in own["codes"]] == [dict(brief.labels)[name] for brief in briefs]
    seeds = axis(runs, "seed")
    assert [seeds["labels"][code] for code in seeds["codes"]] == [str(brief.seed) for brief in briefs]
    assert runs["damaged"] == runs["reports"] == []


def test_a_metric_is_what_the_command_line_measures(asking: Asking, made: Path) -> None:
    runs = asking.runs()
    asked = {"revision": runs["revision"], "metric": "goodput({flow})", "runs": list(range(8))}
    first, *rest = asking.lines("measure", asked)
    assert first == {"label": "Goodput", "unit": "Mbit/s", "top": None, "total": 8}
    rows = [row for part in rest for row in part["rows"]]
    assert rest[-1]["done"] == 8
    assert rest[-1]["wrong"] == []
    frame = Results.open(made).metric("goodput({flow})")
    records = Folder.open(made).records()
    for index, of, value in rows:
        brief = records[index].brief
        (want,) = frame.filter(
            *(pl.col(name).cast(pl.String) == label for name, label in brief.labels),
            pl.col("seed") == brief.seed,
            pl.col("of").cast(pl.String) == of,
        )["value"]
        assert value == pytest.approx(want / 1e6, rel=1e-8)
    assert len(rows) == 16
    # Asked again, and in another order, it is the same.
    again = asking.lines("measure", {**asked, "runs": [3, 1]})
    assert again[1]["rows"] == [row for index in (3, 1) for row in rows if row[0] == index]


@pytest.mark.parametrize(
    ("metric", "said"), [("goodputt({flow})", "goodput"), ("goodput(", "error"), ("", "characters"), ("x" * 501, "500")]
)
def test_a_wrong_metric_is_refused_in_words(asking: Asking, metric: str, said: str) -> None:
    status, content = asking.post("measure", {"revision": asking.runs()["revision"], "metric": metric, "runs": [0]})
    assert status == 422
    assert said in content.decode()
    assert "Traceback" not in content.decode()


def test_what_one_run_lacks_is_said_and_counted(asking: Asking) -> None:
    asked = {"revision": asking.runs()["revision"], "metric": "goodput(three)", "runs": [0, 1, 2]}
    last = asking.lines("measure", asked)[-1]
    assert last["rows"] == []
    (wrong,) = last["wrong"]
    assert wrong["runs"] == 3
    assert "three" in wrong["why"]


def test_runs_over_time(asking: Asking, made: Path) -> None:
    runs = asking.runs()
    asked = {"revision": runs["revision"], "table": "flows", "column": "goodput_bps", "runs": [0, 5]}
    one, other = asking.lines("series", asked)
    assert (one["index"], other["index"]) == (0, 5)
    assert (one["label"], one["unit"], one["seconds"]) == ("Goodput", "Mbit/s", 2.0)
    assert [line["name"] for line in one["lines"]] == ["one", "two"]
    run = next(r for r in Results.open(made) if r.key.name == Folder.open(made).records()[0].name)
    own = run.flows.filter(pl.col("flow").cast(pl.String) == "one", pl.col("t_s") >= 0)
    line = one["lines"][0]
    # The mean over equal steps is the mean over all of it.
    whole = float(own["goodput_bps"].sum()) / own.height / 1e6
    assert sum(line["y"]) / len(line["y"]) == pytest.approx(whole, rel=0.05)
    part = asking.lines("series", {**asked, "between": [0.5, 1.0]})[0]
    assert all(0.5 <= t <= 1.0 for line in part["lines"] for t in line["t"])
    (wrong,) = asking.lines("series", {**asked, "column": "cwmd", "runs": [0]})
    assert "cwnd" in wrong["help"]


def test_a_run_has_its_command(asking: Asking) -> None:
    revision = asking.runs()["revision"]
    status, content = asking.post("run", {"revision": revision, "run": 0})
    assert status == 200
    own = json.loads(content)
    assert own["again"].startswith("sojourn export run ")
    assert "sojourn run again.run/scenario.json" in own["again"]
    assert own["checks"][0]["passed"] is True
    assert {"table": "flows", "column": "cwnd", "label": "Congestion window (packets)"} in own["columns"]
    assert asking.post("run", {"revision": revision, "run": 8})[0] == 422
    assert asking.post("run", {"revision": revision, "run": -1})[0] == 422
    assert asking.post("run", {"revision": revision + 1, "run": 0})[0] == 422


def test_imported_data_lie_over_ours(of_own: Asking, folder: Path) -> None:
    # Of one queue with a name that a file can have.
    others = {name for name in Folder.open(folder).store.names() if "pfifo_20ms" not in name}
    with Folder.open(folder).locked():
        _core.Store.remove(folder / "segments", others)
        Folder.open(folder).count(len(Folder.open(folder).store))
    in_pages.sojourn("export", "flent", folder, folder=folder.parent)
    in_pages.sojourn("import", *sorted((folder / "flent").glob("*.flent.gz")), "-o", folder, folder=folder.parent)
    runs = of_own.runs()
    engine = axis(runs, "engine")
    assert engine["labels"] == ["flent", "sim"]
    theirs, ours = (engine["codes"].index(code) for code in (0, 1))
    asked = {"revision": runs["revision"], "table": "flows", "column": "goodput_bps", "runs": [theirs, ours]}
    one, other = of_own.lines("series", asked)
    assert len(one["lines"]) == len(other["lines"]) == 2
    assert max(max(v for v in line["y"] if v is not None) for line in one["lines"]) > 1
    about = json.loads(of_own.post("run", {"revision": runs["revision"], "run": theirs})[1])
    assert about["imported"] is True
    assert "again" not in about


def test_runs_that_come_later_are_seen(of_own: Asking, folder: Path) -> None:
    before = of_own.runs()
    assert of_own.runs()["revision"] == before["revision"]
    with Folder.create(folder, version=Folder.open(folder).version, command="x") as opened:
        record = opened.records()[0]
        key = RunKey(record.key.resolved.with_seed(99), record.key.engine, record.key.version)
        opened.add(key, {name: record.table(name) for name in record.tables}, command="x")
    more = of_own.runs()
    assert (more["runs"], more["revision"]) == (9, before["revision"] + 1)
    status, content = of_own.post("run", {"revision": before["revision"], "run": 0})
    assert status == 422
    assert "load the page again" in content.decode()


def test_damage_is_named_and_the_other_runs_are_shown(of_own: Asking, folder: Path) -> None:
    [file] = segments(folder)
    with Folder.create(folder, version=Folder.open(folder).version, command="x") as opened:
        record = opened.records()[0]
        key = RunKey(record.key.resolved.with_seed(99), record.key.engine, record.key.version)
        opened.add(key, {name: record.table(name) for name in record.tables}, command="x")
    file.write_bytes(b"junk")
    runs = of_own.runs()
    assert runs["runs"] == 1
    (said,) = runs["damaged"]
    assert str(file) in said


def test_different_cells_of_one_name_are_distinguished(tmp_path: Path) -> None:
    (tmp_path / "few.toml").write_text(FEW)
    for setting in ([], ["hop.bottleneck.rate=5mbit"]):
        sojourn.load(tmp_path / "few.toml", settings=setting, seeds=1).run(tmp_path / "r")
    for own in serving(tmp_path / "r"):
        runs = own.runs()
        variant, seed = axis(runs, "variant"), axis(runs, "seed")
        rates = [variant["labels"][code].partition(",")[0] for code in variant["codes"]]
        assert sorted(rates) == ["rate=10Mbit"] * 4 + ["rate=5Mbit"] * 4
        assert len(seed["labels"]) == 1


# --- whom and what it refuses -----------------------------------------------------------------------------------------


def test_nobody_is_answered_without_the_address(asking: Asking) -> None:
    token = asking.base.strip("/")
    assert len(token) >= 43
    for path in (
        "/",
        "",
        "/runs",
        f"/{token[:-1]}/",
        f"/{token}x/runs",
        f"/{token.swapcase()}/",
        f"/{token}",
        "//",
        "/%00/",
        "*",
    ):
        answer, content = asking.raw("GET", path)
        assert answer.status == 404, path
        assert token not in content.decode()
        assert answer.getheader("Location") is None
    assert asking.raw("POST", "/measure", b"{}", Content_Type="application/json")[0].status == 404
    assert asking.get()[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:{port}"]
)
def test_another_host_is_refused(asking: Asking, host: str) -> None:
    answer, content = asking.raw("GET", asking.base, Host=host.format(port=asking.port))
    assert answer.status == 421
    assert b"<" not in content


def test_localhost_is_we(asking: Asking) -> None:
    assert asking.raw("GET", asking.base, Host=f"localhost:{asking.port}")[0].status == 200


def test_two_hosts_are_refused(asking: Asking) -> None:
    with socket.create_connection(("127.0.0.1", asking.port), timeout=10) as link:
        own = f"127.0.0.1:{asking.port}"
        link.sendall(f"GET {asking.base} HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\n\r\n".encode())
        assert b" 421 " in link.recv(200)


def test_a_request_of_another_page_is_refused(asking: Asking) -> None:
    revision = asking.runs()["revision"]
    asked = {"revision": revision, "run": 0}
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{asking.port + 1}", "http://127.0.0.1"):
        assert asking.post("run", asked, Origin=origin)[0] == 403
    assert asking.post("run", asked, Origin=f"http://127.0.0.1:{asking.port}")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "../secret.html",
        "report/../secret.html",
        "report/..%2fsecret.html",
        "report/%2e%2e/secret.html",
        "report/..%5csecret.html",
        "report/{outside}",
        "report//etc/passwd",
        "report/%2fetc%2fpasswd",
        "report/manifest.json",
        "report/.lock",
        "report/",
        "report/leads.html",
        "report/up/secret.html",
        "runs/../../secret.html",
        "segments/000001.runs",
        "manifest.json",
    ],
)
def test_nothing_outside_the_folder_is_served(of_own: Asking, folder: Path, path: str) -> None:
    (folder / "leads.html").symlink_to(folder.parent / "secret.html")
    (folder / "up").symlink_to(folder.parent)
    status, content = of_own.get(path.format(outside=folder.parent / "secret.html"))
    assert status == 404
    assert UNREAD.encode() not in content
    assert "leads.html" not in of_own.runs()["reports"]


def test_a_segment_that_leads_out_of_the_folder_is_not_read(of_own: Asking, folder: Path) -> None:
    [file] = segments(folder)
    elsewhere = folder.parent / "elsewhere.runs"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    runs = of_own.runs()
    assert runs["runs"] == 0
    (said,) = runs["damaged"]
    assert "000001.runs" in said


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", {}, 422),
        (b"[]", {}, 422),
        (b"{", {}, 422),
        (b"[" * 100_000, {}, 422),
        (b'{"revision": 1, "run": true}', {}, 422),
        (b'{"revision": 1, "run": 1e400}', {}, 422),
        (b'{"revision": "1", "run": 0}', {}, 422),
        (b"{}", {"Content_Type": "text/plain"}, 415),
        (b"{}", {"Content_Type": "application/x-www-form-urlencoded"}, 415),
        (b"{}", {"Content_Length": "5000000"}, 413),
        (b"{}", {"Content_Length": "9" * 400}, 413),
        (b"{}", {"Content_Length": "-1"}, 411),
    ],
)
def test_what_is_no_request_is_refused(asking: Asking, body: bytes, headers: dict[str, str], status: int) -> None:
    found, content = asking.post("run", body, **headers)
    assert found == status
    assert b"Traceback" not in content


def test_too_many_runs_do_not_lie_over_one_another(asking: Asking) -> None:
    asked = {"revision": asking.runs()["revision"], "table": "flows", "column": "cwnd", "runs": [0] * 25}
    status, content = asking.post("series", asked)
    assert status == 422
    assert "up to 24" in content.decode()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "<script>"])
def test_other_methods_are_refused(asking: Asking, method: str) -> None:
    answer, content = asking.raw(method, asking.base)
    assert answer.status == 501
    assert b"<" not in content
    assert answer.getheader("Access-Control-Allow-Origin") is None


def test_the_page_trusts_nothing(asking: Asking) -> None:
    answer, content = asking.raw("GET", asking.base)
    policy = answer.getheader("Content-Security-Policy") or ""
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    headers = {name: answer.getheader(name) for name in ("Referrer-Policy", "Cache-Control", "X-Content-Type-Options")}
    assert headers == {
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    # The same page for every folder: no text of the folder can be a part of it.
    assert content.decode() == page.html()
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", page.html())
    assert "innerHTML" not in page.html()
    runs, _ = asking.raw("GET", f"{asking.base}runs")
    assert runs.getheader("Content-Type") == "application/json"
    head, nothing = asking.raw("HEAD", asking.base)
    assert (head.status, nothing) == (200, b"")


def test_a_report_is_shown_without_our_origin(of_own: Asking, folder: Path) -> None:
    (folder / "report.html").write_text("<script>fetch('../runs')</script>")
    assert of_own.runs()["reports"] == ["report.html"]
    answer, content = of_own.raw("GET", f"{of_own.base}report/report.html")
    policy = answer.getheader("Content-Security-Policy") or ""
    assert content == b"<script>fetch('../runs')</script>"
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy
    assert "script-src 'sha256-" in policy


def test_files_next_to_a_report_are_shown(of_own: Asking, folder: Path) -> None:
    (folder / "report.html").write_text('<a href="report/a=1%2C2.svg">')
    for name in ("report", "other"):
        (folder / name).mkdir()
        (folder / name / "a=1,2.svg").write_text("<svg/>")
    (folder / "report" / "leads.svg").symlink_to(folder.parent / "secret.html")
    (folder / "report" / "deep").mkdir()
    (folder / "report" / "deep" / "a.svg").write_text("<svg/>")
    answer, content = of_own.raw("GET", f"{of_own.base}report/report/a=1%2C2.svg")
    assert (answer.status, content, answer.getheader("Content-Type")) == (200, b"<svg/>", "image/svg+xml")
    assert "sandbox" in (answer.getheader("Content-Security-Policy") or "")
    for name in (
        "report/leads.svg",
        "other/a=1%2C2.svg",
        "report/deep/a.svg",
        "report/..%2fmanifest.json",
        "report/../../secret.html",
        "runs",
        "report/%00",
    ):
        status, content = of_own.get(f"report/{name}")
        assert status == 404, name
        assert UNREAD.encode() not in content


def test_only_loopback_is_listened_on(made: Path) -> None:
    catalogue = Catalogue(Folder.open(made))
    with Server(catalogue) as server, Server(catalogue) as other:
        assert server.server_address[0] == "127.0.0.1"
        assert server.token != other.token


# --- the command ------------------------------------------------------------------------------------------------------


def explore(*words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "sojourn", "explore", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly(made: Path, how: signal.Signals) -> None:
    before = sorted(path.name for path in made.iterdir())
    with explore(str(made), "--no-browser") as command:
        assert command.stdout is not None
        address = command.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", address)
        parts = urlsplit(address)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=30)
        connection.request("GET", parts.path)
        assert connection.getresponse().status == 200
        command.send_signal(how)
        _, said = command.communicate(timeout=30)
    assert command.returncode == 0
    assert said.splitlines()[-1] == "Ended."
    assert "Traceback" not in said
    assert sorted(path.name for path in made.iterdir()) == before


def test_mistakes_are_said(made: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for words, said in (
            ([str(made), "--port", str(port)], f"port {port} cannot be listened on"),
            ([str(tmp_path / "nothing")], "there is no folder"),
            ([str(tmp_path)], "is not a results folder"),
        ):
            with explore(*words, "--no-browser") as command:
                _, error = command.communicate(timeout=60)
            assert command.returncode == 2
            assert said in error
            assert "help: " in error
            assert "Traceback" not in error


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("measure", b'{"revision":1,"metric":"\\ud800","runs":[0]}'),
        ("measure", b'{"revision":1,"metric":"goodput(one)","runs":[%d]}' % 10**400),
        ("series", b'{"revision":1,"table":"flows","column":"cwnd","runs":[0],"between":[0,%d]}' % 10**400),
        ("series", b'{"revision":%d,"table":"flows","column":"cwnd","runs":[0]}' % 2**70),
        ("series", b'{"revision":1,"table":"flows","column":"cwnd","runs":[0],"between":[0,1e400]}'),
    ],
)
def test_numbers_and_texts_that_fit_nowhere_are_refused(of_own: Asking, what: str, body: bytes) -> None:
    status, content = of_own.post(what, body)
    assert status == 422, content


def test_connections_are_few_and_a_request_has_an_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.explore.server._MOST_CONNECTIONS", 4)
    monkeypatch.setattr("sojourn.explore.server._PATIENCE_S", 0.5)
    for asking in serving(folder):
        half = [socket.create_connection(("127.0.0.1", asking.port), timeout=30) for _ in range(20)]
        for own in half:
            with contextlib.suppress(OSError):
                own.sendall(b"GET / HT")
        # Above the bound they are closed at once, the others when the patience with a whole request is over.
        for own in half:
            with contextlib.suppress(ConnectionError):
                assert own.recv(1) == b""
            own.close()
        # A thread that has hung up may still hold its place, and a busy machine may be slower than the patience.
        for _ in range(100):
            with contextlib.suppress(ConnectionError):
                assert asking.get()[0] == 200
                break
            time.sleep(0.1)
        else:
            pytest.fail("it never answers again")


def test_a_run_with_a_fault_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are measured together; one that cannot be read is named, and the others keep their values."""
    sojourn.Experiment.dumbbell(seeds=5, duration="1s").run(tmp_path / "r", quiet=True)
    catalogue = Catalogue(Folder.open(tmp_path / "r"))
    revision = catalogue.now()
    broken = revision.name(2)
    real = catalogue.record

    def record(name: str) -> object:
        if name == broken:
            raise StoreError(f"the run {name} is damaged")
        return real(name)

    monkeypatch.setattr(catalogue, "record", record)
    *_, last = Measuring(catalogue).stream(revision, "goodput(cubic)", range(5))
    assert [index for index, _, _ in last["rows"]] == [0, 1, 3, 4]
    expected = [Run.stored(real(revision.name(index))).metric("goodput(cubic)") for index in (0, 1, 3, 4)]
    assert [value for _, _, value in last["rows"]] == pytest.approx([value / 1e6 for value in expected])
    assert last["wrong"] == [{"why": f"the run {broken} is damaged", "runs": 1}]
