"""Flent's batch language and the harness's hooks: by hand against what docs/sources/harness.md says of them."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import ExperimentError, UsageError
from sojourn.interop import batch
from sojourn.interop.batch import expand, language, run, shell
from sojourn.interop.batch.placed import File, Placed

RIG = Path(__file__).parent / "batch" / "rig.batch"


def read(text: str) -> language.Batches:
    return language.read(text, "x.batch")


def texts(name: str) -> list[dict[str, Any]]:
    """The experiments that a batch of the rig becomes."""
    batches = language.read(RIG.read_text(), "rig.batch")
    return [
        tomllib.loads(run.as_toml(one, lambda _text, _at: None)) for one in expand.runs(batches, batches.batches[name])
    ]


def failing(text: str, folder: Path) -> ExperimentError:
    """The error of a file that cannot be mapped."""
    file = folder / "x.batch"
    file.write_text(text)
    with pytest.raises(ExperimentError) as caught:
        batch.load(file)
    return caught.value


def sojourn(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sojourn", *words], capture_output=True, text=True, check=False, timeout=120
    )


def one(hooks: str, *, test: str = "tcp_1up", more: str = "") -> str:
    """A batch of one run, its hooks in line 5."""
    return (
        "[Command::arrange]\nexec = ./fl flent_setup l4s ns out ${hooks}\ntype = pre\n[Batch::b]\n"
        f"hooks = {hooks}\ncommands = arrange\nlength = 5\ntest_name = {test}\n{more}"
    )


class TestLanguage:
    def test_the_child_wins_over_all_and_a_later_parent_over_an_earlier_one(self) -> None:
        got = read(
            "[Arg::a]\nx = a\ny = a\nz = a\nabstract = yes\n[Arg::b]\ny = b\nz = b\n[Arg::c]\ninherits = a, b\nz = c\n"
        ).args["c"]
        assert {k: str(v) for k, v in got.values.items()} == {"x": "a", "y": "b", "z": "c", "inherits": "a, b"}

    def test_for_keys_keep_the_order_of_the_first_parent(self) -> None:
        got = read("[Batch::a]\nfor_b = 1\nfor_a = 2\n[Batch::c]\nfor_a = 3\nfor_d = 4\ninherits = a\n").batches["c"]
        assert [k for k in got.values if k.startswith("for_")] == ["for_b", "for_a", "for_d"]

    def test_values_go_on_over_indented_lines_and_know_them(self) -> None:
        value = read("[Arg::a]\nx = one\n\n\t two\n# no\n   three\ny = 1\n").args["a"].values["x"]
        assert str(value) == "one\ntwo\nthree"
        assert value.lines[0] == 2
        assert value[-1:].line == 6

    @pytest.mark.parametrize(
        ("text", "line", "message"),
        [
            ("x = 1\n", 1, "there is no section yet"),
            ("[Batch::a]\nnonsense\n", 2, "neither a section nor a key"),
            ("[Batches::a]\n", 1, 'there is no kind of section "Batches"'),
            ("[Batch]\n", 1, "has no name"),
            ("[Batch::a]\n[Batch::A]\n", 2, "there are two sections"),
            ("[Batch::a]\nx = 1\nX = 2\n", 3, "x is given twice"),
            ("[Batch::ab]\n[Batch::b]\ninherits = aa\n", 3, 'no batch to inherit from "aa"'),
        ],
    )
    def test_mistakes_have_their_line(self, text: str, line: int, message: str) -> None:
        with pytest.raises(ExperimentError, match=message) as caught:
            read(text)
        assert caught.value.line == line


class TestExpansion:
    def test_the_last_for_key_varies_fastest(self) -> None:
        got = read("[Arg::a1]\n[Arg::a2]\n[Arg::b1]\n[Arg::b2]\n[Batch::x]\nfor_q = a*\nfor_p = b2, b1\n")
        labels = [tuple(r.labels.values()) for r in expand.runs(got, got.batches["x"])]
        assert labels == [("a1", "b2"), ("a1", "b1"), ("a2", "b2"), ("a2", "b1")]

    def test_args_override_the_batch_and_names_are_filled_in_again_and_again(self) -> None:
        got = read("[Arg::a]\nx = ${y}!\n[Batch::b]\nfor_a = a\nx = no\ny = ${z}\nz = 7\ntext = <${x} $${x} ${w}>\n")
        (only,) = expand.runs(got, got.batches["b"])
        assert str(only.get("text")) == "<7! ${x} ${w}>"

    def test_circles_are_found(self) -> None:
        got = read("[Batch::b]\nx = ${y}\ny = ${x}\n")
        (only,) = expand.runs(got, got.batches["b"])
        with pytest.raises(ExperimentError, match="round in circles"):
            only.get("x")

    def test_an_unknown_arg_has_the_nearest_name(self) -> None:
        got = read("[Arg::fq_codel]\n[Batch::b]\nfor_q = fq_codl\n")
        with pytest.raises(ExperimentError) as caught:
            list(expand.runs(got, got.batches["b"]))
        assert (caught.value.line, caught.value.help) == (3, 'did you mean "fq_codel"?')


class TestShell:
    FILE = File("x", ())

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (r"a\ b 'c \d' \"e", ["a b", r"c \d", '"e']),
            ('"a \\" b" c""d ""', ['a " b', "cd", ""]),
            ("a \\\n\tb", ["a", "b"]),
        ],
    )
    def test_quotes(self, text: str, expected: list[str]) -> None:
        assert [str(w) for w in shell.words(Placed.of(text, 1), self.FILE)] == expected

    def test_three_readings_of_a_hook(self) -> None:
        """sh -c, the harness's argument list, the hook: the published files rely on them."""
        once = shell.words(Placed.of(r"mid \"qdisc bidir root-tree \\\"netem delay 1ms\\\" x\; y\"", 1), self.FILE)
        twice = shell.again(once, self.FILE)
        assert [str(w) for w in twice] == ["mid", 'qdisc bidir root-tree "netem delay 1ms" x; y']
        first = shell.words(twice[1].split(";")[0], self.FILE)
        assert [str(w) for w in first] == ["qdisc", "bidir", "root-tree", "netem delay 1ms", "x"]

    def test_a_quote_left_open(self) -> None:
        with pytest.raises(ExperimentError, match="is not closed"):
            shell.words(Placed.of('a "b', 1), self.FILE)


class TestRig:
    """Each construct of the rig's file; expectations worked out from the hooks' description."""

    def test_which_batches_run(self) -> None:
        names = {e.name: len(e.run_keys) for e in batch.load(RIG, batches=["new-*"]).experiments}
        assert names == {
            "new-pair": 12,  # 3 queues x 2 rates x 2 repetitions
            "new-bleached": 2,
            "new-rtts": 2,
            "new-steps": 2,
            "new-both-ways": 2,
            "new-paced": 2,
            "new-tunnel": 2,
        }

    def test_a_pair_of_streams(self) -> None:
        first, *_, last = texts("new-pair")
        assert first["experiment"]["duration"] == "12s"
        assert first["experiment"]["sample_interval"] == "0.1s"
        assert first["flow"] == [
            {"name": "first", "cc": "prague", "dscp": 0x13, "ecn": "accecn"},
            {"name": "second", "cc": "cubic", "dscp": 0x23, "start": "4s", "ecn": "accecn"},
        ]
        assert first["hop"][0]["down"]["rate"] == "5Mbit"
        assert first["hop"][0]["down"]["delay"] == first["hop"][0]["up"]["delay"] == "40ms"
        assert last["hop"][0]["down"]["qdisc"] == "cnq_codel_af bandwidth 20Mbit"
        assert last["hop"][0]["down"]["shaper"] == "own"

    def test_rules_stand_before_the_queue_of_the_way_they_are_met_on(self) -> None:
        (got,) = texts("new-bleached")
        assert [(e["side"], e["rewrite"]) for e in got["hop"][0]["element"]] == [
            ("down", {"rule": "bleach_ecn", "dscp": "0x23"}),
            ("down", {"rule": "ect1_to_ect0"}),
        ]

    def test_each_flow_its_base_rtt_and_the_ping_the_first(self) -> None:
        (got,) = texts("new-rtts")
        assert [f["rtt"] for f in got["flow"]] == ["80000us", "10000us"]
        assert (got["hop"][0]["rtt"], got["hop"][0]["netem_limit"]) == ("80000us", 10000)

    def test_steps_come_five_seconds_early_and_queues_are_changed_or_replaced(self) -> None:
        (got,) = texts("new-steps")
        assert [{k: v for k, v in e.items() if k != "name"} for e in got["event"]] == [
            {"at": "4.81s", "hop": "bottleneck", "side": "both", "rate": "2mbit"},
            {
                "at": "8.31s",
                "hop": "bottleneck",
                "side": "down",
                "rate": "10mbit",
                "replace": "pie noecn",
                "shaper": "htb",
            },
        ]
        assert got["hop"][0]["down"]["netem"] == ["delay 200us slot 800us 5ms packets 16 limit 10000"]
        assert got["hop"][0]["down"]["netem_limit"] == 512

    def test_both_ways(self) -> None:
        (got,) = texts("new-both-ways")
        assert (got["hop"][0]["up"]["qdisc"], got["hop"][0]["down"]["rate"]) == ("pfifo limit 20", "10Mbit")
        assert [(f.get("group"), f.get("direction")) for f in got["flow"]] == [("upload", "up")] * 4 + [
            ("download", None)
        ] * 4 + [(None, "up")]
        probe = got["flow"][-1]
        assert (probe["count"], probe["start"], probe["irtt"]) == (3, "-5s", {"interval": "0.1s"})

    def test_pacing_and_the_senders_own_queue(self) -> None:
        (got,) = texts("new-paced")
        assert [f["max_pacing_rate"] for f in got["flow"]] == ["50000000bit", "40000000bit"]
        assert {f["host_qdisc"] for f in got["flow"]} == {"fq"}

    def test_a_tunnel_by_the_servers_address(self) -> None:
        (got,) = texts("new-tunnel")
        assert got["tunnel"] == [{"name": "tunnel", "kind": "esp", "flows": ["first", "second"], "replay_window": 64}]

    def test_a_root_queue_with_its_own_shaper_changed_then_replaced(self) -> None:
        (got,) = texts("old-signal")
        assert got["experiment"]["stack"] == "sce-2020-03"
        assert got["hop"][0]["down"]["rate"] == "50Mbit"
        changed, replaced = got["event"]
        assert changed["change"] == "twin_codel_af bandwidth 5Mbit sce-thresh 4"
        assert (replaced["replace"], replaced["shaper"], replaced["rate"]) == ("pie noecn", "htb", "50Mbit")

    def test_what_has_no_effect_is_said_with_its_line(self) -> None:
        lines = RIG.read_text().splitlines()
        notes = batch.load(RIG, batches=["new-*"]).notes
        said = {note.text.split()[0]: lines[note.line - 1] for note in notes}
        assert set(said) == {"run_tcpdump", "${ends_that_nobody_wrote}", "replay_window"}
        assert all(word in line for word, line in said.items())

    def test_it_runs(self, tmp_path: Path) -> None:
        done = sojourn(
            "run", str(RIG), "-b", "new-both-ways", "-b", "new-rtts", "--seeds", "1", "-o", str(tmp_path / "r")
        )
        assert done.returncode == 0, done.stderr
        assert "new-rtts" in done.stdout
        assert "rig.batch:119: ${ends_that_nobody_wrote}" in done.stderr


class TestRefusals:
    """What cannot be mapped is named with its line; nothing runs."""

    @pytest.mark.parametrize(
        ("hooks", "message"),
        [
            (r"mid \"qdsc bidir root fq_codel\"", 'there is no hook "qdsc"'),
            (r"mid \"qdisc up root fq_codel\"", '"up" is no direction'),
            (r"mid \"qdisc bidir htb 50Mbits fq_codel\"", '"50Mbits" is no rate'),
            (r"mid \"qdisc bidir htb 50Mbit\"", "ends where the discipline below htb should be"),
            (r"mid \"qdisc bidir after soon htb 50Mbit\"", '"soon" is no number of seconds'),
            (r"mid \"qdisc bidir after 5 htb 50Mbit\"", "there is nothing to change yet"),
            (r"mid \"qdisc left ingress rttfair 1ms 2ms 0 4\"", "rttfair is mapped as"),
            (r"mid \"qdisc bidir ingress root tbf rate 1mbit\"", '"tbf" on ingress cannot be mapped'),
            (r"mid \"bleach_ecn left\"", "ends where a DSCP should be"),
            (r"mid \"set_tos left 4\"", "cannot be mapped: the harness reads its loop"),
            (r"srv \"bleach_ecn left 4\"", "rewriters belong in the middle box"),
            (r"cli \"qdisc right htb 5mbit fq\"", "only `qdisc … root` of the sending side"),
            (r"midd \"tcp_metrics\"", '"midd" is no node'),
            (r"mid", "mid has no hooks"),
        ],
    )
    def test_hooks(self, hooks: str, message: str, tmp_path: Path) -> None:
        error = failing(one(hooks), tmp_path)
        assert message in error.message
        assert error.line == 5

    def test_a_mistake_in_tc_words_is_found_before_anything_runs(self, tmp_path: Path) -> None:
        error = failing(
            one(r"mid \"qdisc bidir htb 5Mbit fq_codel targt 5ms\; qdisc bidir ingress root netem delay 5ms\""),
            tmp_path,
        )
        assert "targt" in error.render()

    @pytest.mark.parametrize(
        ("test", "more", "line", "message"),
        [
            ("voip", "", 8, 'the test "voip" cannot be mapped'),
            ("tcp_1up", "test_parameters = cc_algoo=cubic\n", 9, 'the test parameter "cc_algoo" cannot be mapped'),
            ("tcp_1up", "test_parameters = marking=0x1ff\n", 9, '"0x1ff" is no TOS byte'),
            ("tcp_1up", "test_parameters = stream_test_args=-m 9\n", 9, "test argument"),
        ],
    )
    def test_tests(self, test: str, more: str, line: int, message: str, tmp_path: Path) -> None:
        error = failing(one(r"mid \"qdisc bidir htb 5Mbit pfifo\"", test=test, more=more), tmp_path)
        assert message in error.message
        assert error.line == line

    def test_a_command_that_is_not_the_harness(self, tmp_path: Path) -> None:
        error = failing(
            "[Command::x]\nexec = tc qdisc add dev eth0 root fq\n[Batch::b]\ntest_name=tcp_1up\ncommands = x\n",
            tmp_path,
        )
        assert (error.line, "tc" in error.message) == (2, True)

    def test_a_batch_without_set_up(self, tmp_path: Path) -> None:
        assert "no command that sets up a bottleneck" in failing("[Batch::b]\ntest_name = tcp_1up\n", tmp_path).message

    def test_every_mistake_is_named_once(self, tmp_path: Path) -> None:
        text = one(r"mid \"nonsense\"", more="for_x = a*\n") + "[Arg::a1]\n[Arg::a2]\n[Batch::c]\ntest_name = x\n"
        error = failing(text, tmp_path)
        assert len(error.also) == 1

    def test_no_such_batch(self) -> None:
        with pytest.raises(UsageError) as caught:
            batch.load(RIG, batches=["new-pears"])
        assert caught.value.help == 'did you mean "new-pair"?'
        with pytest.raises(UsageError, match="abstract or disabled"):
            batch.load(RIG, batches=["gone"])

    def test_b_without_a_batch_file(self, tmp_path: Path) -> None:
        done = sojourn("run", "l4s-tests/s7", "-b", "x", "-o", str(tmp_path / "r"))
        assert done.returncode == 2
        assert "you named no such file" in done.stderr


def test_a_product_without_bound_is_refused_before_it_is_made(tmp_path: Path) -> None:
    args = "".join(f"[Arg::a{i}]\nx = {i}\n" for i in range(20))
    keys = "".join(f"for_k{i} = *\n" for i in range(9))
    error = failing(f"{args}[Batch::b]\n{keys}length = 5\ntest_name = tcp_1up\n", tmp_path)
    assert "512000000000 runs are more than 100000" in str(error)
    assert "for_ keys" in str(error)
