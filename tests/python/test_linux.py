import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import RunError, UsageError
from sojourn.experiments.experiment import Experiment
from sojourn.linux import configuration, iproute, source
from sojourn.linux.build import build
from sojourn.linux.kernels import Kernel, cache, check_name, kernels, named, objects_of, remove
from sojourn.linux.needs import Need, command


def write_kernel(folder: Path, version: str, *, finished: bool = True) -> None:
    """Write one as an earlier version of Sojourn did."""
    own = folder / f"{version}-12345678"
    own.mkdir(parents=True)
    (own / "linux").touch()
    output = {"version": version, "config": "12345678", "source": "a tree", "qdiscs": ["codel"], "ccs": ["cubic"]}
    (own / "kernel.json").write_text(json.dumps(output) if finished else "{")


def write_patched(folder: Path, digest: str, name: str | None, tree: str = "/trees/mine", **more: Any) -> Kernel:
    """Write one with a congestion control and a discipline of somebody's own."""
    own = folder / f"7.3.4-{digest}"
    own.mkdir(parents=True)
    (own / "linux").touch()
    own.joinpath("config").write_text("CONFIG_CGROUP_PIDS=y\n")
    has = {"qdiscs": ["codel", "sch_mine"], "ccs": ["cubic", "steady"], **more}
    kernel = Kernel(own, "7.3.4", "12345678", tree, hash=digest, name=name, tree=True, built=1, **has)
    kernel.write()
    return kernel


def test_finished_kernels_are_listed_oldest_first(tmp_path: Path) -> None:
    for version in ("7.3.4", "5.10.223"):
        write_kernel(tmp_path, version)
    write_kernel(tmp_path, "6.1.1", finished=False)
    assert [(k.version, k.stack) for k in kernels(tmp_path)] == [
        ("5.10.223", "linux-5.10"),
        ("7.3.4", "linux-7.3"),
    ]


def test_the_cache_is_where_the_engine_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    write_kernel(tmp_path / "linux", "7.3.4")
    assert [k.version for k in kernels()] == ["7.3.4"]


def test_what_is_missing_comes_with_the_command_that_installs_it() -> None:
    lacking = [Need("flex", "build", "flex", lambda: False), Need("Linux", "run", "", lambda: False)]
    assert command(lacking) == "apt install flex"


def test_a_folder_that_is_no_kernel_tree_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.linux.build.missing", lambda _purposes: [])
    with pytest.raises(UsageError, match="is not a kernel tree: it lacks Makefile"):
        build(tree=tmp_path)
    tree = write_tree(tmp_path / "tree")
    (tree / "net" / "sched" / "Kconfig").unlink()
    with pytest.raises(UsageError, match="it lacks net/sched/Kconfig"):
        source.tree(tree)


def test_missing_tools_are_reported_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.linux.build.missing", lambda _: [Need("flex", "build", "flex", lambda: False)])
    with pytest.raises(UsageError, match="this is missing: flex") as caught:
        build()
    assert caught.value.help == "apt install flex"


def test_a_series_that_no_package_has_is_named_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "linux-source-6.1 - Linux kernel source\nlinux-source-6.12 - the same\n"
    monkeypatch.setattr("sojourn.linux.source.output", lambda _words: listed)
    assert source.package("6.1.99") == "linux-source-6.1"
    with pytest.raises(UsageError, match=r"no linux-source-7\.3") as caught:
        source.package("7.3")
    assert caught.value.help is not None
    for said in ("there is 6.1, 6.12", "there are stacks of 7.3, 5.10, 5.4", "trixie-backports", "apt update"):
        assert said in caught.value.help
    # Ten minutes for a kernel that the simulator has no stack of are asked for by name.
    with pytest.raises(UsageError, match=r"no kernel that a stack is of: there is 6\.1, 6\.12"):
        source.package(None)
    listed += "linux-source-5.10 - the same\nlinux-source-7.3 - the same\nlinux-source-7.4 - the same\n"
    assert source.package(None) == "linux-source-7.3"
    listed = ""
    with pytest.raises(UsageError, match="have no kernel source") as caught:
        source.package(None)
    assert caught.value.help is not None
    assert "apt update" in caught.value.help


def sojourn(*words: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SOJOURN_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, "-m", "sojourn", *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=120,
    )


def test_without_a_kernel_the_command_line_says_how_to_get_one(tmp_path: Path) -> None:
    tried = sojourn("try", "--engine", "linux", "cubic", cache=tmp_path)
    assert tried.returncode == 2
    assert "no kernel has been built" in tried.stderr
    assert "sojourn linux build" in tried.stderr
    assert sojourn("linux", "list", "--json", cache=tmp_path).stdout.strip() == "[]"
    output = sojourn("doctor", "--json", cache=tmp_path)
    assert output.returncode == 1
    state = json.loads(output.stdout)
    assert state["sim"]["ready"]
    assert not state["linux"]["ready"]
    assert "sojourn linux build" in state["linux"]["advice"]


def test_what_no_kernel_has_is_refused_by_name(tmp_path: Path) -> None:
    write_kernel(tmp_path / "linux", "7.3.4")
    tried = sojourn("try", "--engine", "linux", "--qdisc", "pie", "cubic", cache=tmp_path)
    assert tried.returncode == 2
    assert "qdisc pie: kernel 7.3.4-12345678 does not have it" in tried.stderr


def test_two_sources_at_once_are_refused(tmp_path: Path) -> None:
    built = sojourn("linux", "build", "--version", "7.3", "--source", str(tmp_path), cache=tmp_path)
    assert built.returncode == 2
    assert "exclude each other" in built.stderr


def write_tree(folder: Path, body: str = "1") -> Path:
    """Write a tree with the least Kbuild that works: two files, compiled into a program."""
    for file in ("Makefile", "Kconfig", "arch/um/Kconfig", "net/ipv4/Kconfig", "net/sched/Kconfig"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("")
    (folder / "Kconfig").write_text('mainmenu "Linux"\n\nsource "net/Kconfig"\n')
    (folder / "net/ipv4/Kconfig").write_text(
        "config TCP_CONG_CUBIC\n\ttristate\n\nconfig TCP_CONG_STEADY\n\ttristate\nconfig DEFAULT_TCP_CONG\n"
    )
    (folder / "net/sched/Kconfig").write_text("menuconfig NET_SCH_DEFAULT\n\tbool\nconfig NET_SCH_MINE\n\ttristate\n")
    (folder / "main.c").write_text(f"int more(void); int main(void) {{ return more() == {body}; }}\n")
    (folder / "more.c").write_text("int more(void) { return 1; }\n")
    merge = folder / "scripts" / "kconfig" / "merge_config.sh"
    merge.parent.mkdir(parents=True)
    merge.write_text('#!/bin/sh\ncat "$5" >> "$4"\n')
    merge.chmod(0o755)
    (folder / "Makefile").write_text(
        """\
defconfig:
	@echo 'CONFIG_HZ=250' > $(O)/.config
	@echo 'CONFIG_CC_VERSION_TEXT="gcc 12"' >> $(O)/.config
olddefconfig prepare:
	@true
kernelrelease:
	@echo 7.3.4$(LOCALVERSION)
linux: $(O)/linux
$(O)/linux: $(O)/main.o $(O)/more.o
	@gcc -o $@ $^
$(O)/%.o: %.c
	@echo '  CC      $*.o'; gcc -c -o $@ $<
"""
    )
    return folder


tools = pytest.mark.skipif(
    not all(map(shutil.which, ("gcc", "make", "strip"))), reason="no compiler, make or strip on this machine"
)


@pytest.fixture
def built_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and kernels that answer what a tree's options are."""

    def answer(kernel: str, _cache: str) -> str:
        assert Path(kernel).with_name("config").is_file()
        return json.dumps({"release": "7.3.4", "ccs": ["cubic", "steady"], "qdiscs": ["mine"], "accecn": True})

    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sojourn.linux.build.missing", lambda _purposes: [])
    monkeypatch.setattr("sojourn._core.ask_kernel", answer)
    return tmp_path


@tools
def test_a_build_is_identified_by_its_hash_and_called_by_its_name(built_here: Path) -> None:
    tree = write_tree(built_here / "tree")
    output: list[tuple[str, float]] = []
    first = build(tree=tree, name="mine", say=lambda what, share: output.append((what, share)))
    assert (first.version, first.name, first.tree, first.ccs) == ("7.3.4", "mine", True, ["cubic", "steady"])
    assert first.folder == cache() / first.id
    assert kernels() == [first]
    # How far it is: the files that make says it will compile, to the last of them.
    shares = [share for what, share in output if what == "building 7.3.4: 2 files to compile"]
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    # The same tree is the same kernel, and nothing of it is compiled again.
    output.clear()
    assert build(tree=tree, name="mine", say=lambda what, share: output.append((what, share))) == first
    assert ("building 7.3.4: 0 files to compile", 0.0) in output
    assert output[-1] == (f"{first.id} exists already: nothing in it has changed", 1.0)
    # A change makes another, which takes the name; the first stays.
    (tree / "more.c").write_text("int more(void) { return 2; }\n")
    output.clear()
    second = build(tree=tree, name="mine", say=lambda what, share: output.append((what, share)))
    assert ("building 7.3.4: at most 1 file to compile", 0.0) in output
    assert second.hash != first.hash
    assert {kernel.id: kernel.name for kernel in kernels()} == {first.id: None, second.id: "mine"}
    # Taken back, it is the first again, and a copy of the tree builds the same.
    (tree / "more.c").write_text("int more(void) { return 1; }\n")
    assert build(tree=tree).hash == first.hash
    copy = shutil.copytree(tree, built_here / "copy")
    assert build(tree=copy).id == first.id
    assert build(tree=tree, name="mine").name == "mine"
    with pytest.raises(UsageError, match="is the kernel mine, to the bit"):
        build(tree=copy, name="yours")
    assert {kernel.id: kernel.name for kernel in kernels()} == {first.id: "mine", second.id: None}


@tools
def test_a_name_goes_with_its_source(built_here: Path) -> None:
    build(tree=write_tree(built_here / "one"), name="mine")
    other = write_tree(built_here / "other", body="2")
    with pytest.raises(UsageError, match=f'a kernel "mine" already, of {built_here}/one') as caught:
        build(tree=other, name="mine")
    assert caught.value.help == "choose another name, or remove it first: sojourn linux remove mine"
    # The error came before anything was compiled.
    assert not objects_of(other).exists()
    assert build(tree=other, name="yours").name == "yours"


@tools
def test_a_kernel_that_does_not_boot_is_not_kept(built_here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_kernel: str, _cache: str) -> str:
        raise RunError("the kernel does not boot: Kernel panic - not syncing")

    monkeypatch.setattr("sojourn._core.ask_kernel", refuses)
    with pytest.raises(RunError, match="was built, and cannot be used: the kernel does not boot: Kernel panic"):
        build(tree=write_tree(built_here / "tree"))
    assert kernels() == []
    assert [file.name for file in cache().iterdir()] == [objects_of(built_here / "tree").name]


@tools
def test_a_build_that_fails_says_where_and_keeps_the_log(built_here: Path) -> None:
    tree = write_tree(built_here / "tree")
    (tree / "more.c").write_text("int more(void) { return }\n")
    with pytest.raises(RunError, match=r"the kernel's build failed: more\.c:1:\d+: error") as caught:
        build(tree=tree)
    assert caught.value.help == f"the whole log is in {cache() / 'build.log'}"
    assert kernels() == []


@tools
def test_a_tree_that_was_built_in_is_refused(built_here: Path) -> None:
    tree = write_tree(built_here / "tree")
    (tree / ".config").touch()
    with pytest.raises(UsageError, match="contains a build") as caught:
        build(tree=tree)
    assert caught.value.help is not None
    assert "mrproper" in caught.value.help


def test_a_trees_own_controls_and_disciplines_are_built_in(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    assert configuration.options(tree) == ["TCP_CONG_CUBIC", "TCP_CONG_STEADY", "NET_SCH_MINE"]
    lines = configuration.fragment(tree, None).splitlines()
    assert lines.count("CONFIG_TCP_CONG_CUBIC=y") == 1
    assert lines[-2:] == ["CONFIG_TCP_CONG_STEADY=y", "CONFIG_NET_SCH_MINE=y"]


def test_the_options_of_tunnels_are_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = configuration.named(Path("tunnels"))
    assert {"CONFIG_INET_ESP=y", "CONFIG_NET_FOU=y", "CONFIG_WIREGUARD=y"} <= set(configuration.lines(shipped))
    # A file of the user's that is called so comes first.
    monkeypatch.chdir(tmp_path)
    Path("tunnels").write_text("CONFIG_MINE=y\n")
    assert configuration.lines(configuration.named(Path("tunnels"))) == ["CONFIG_MINE=y"]
    assert configuration.named(None) is None


def test_a_kernel_with_options_of_the_users_says_so(tmp_path: Path) -> None:
    write_patched(tmp_path, "aaaaaaaa", "tunnels", options=True)
    write_patched(tmp_path, "bbbbbbbb", None)
    assert [(kernel.name, kernel.options) for kernel in kernels(tmp_path)] == [("tunnels", True), (None, False)]


def test_options_of_the_users_own_come_last_and_must_take(tmp_path: Path) -> None:
    own = tmp_path / "mine.config"
    own.write_text("# mine\nCONFIG_TCP_MD5SIG=y\nCONFIG_NO_SUCH=y\n")
    assert configuration.fragment(write_tree(tmp_path / "tree"), own).splitlines()[-1] == "CONFIG_NO_SUCH=y"
    with pytest.raises(UsageError, match="does not accept CONFIG_UML_TIME_TRAVEL_SUPPORT=y"):
        configuration.refuse_what_does_not_take("", own)
    taken = "\n".join([*configuration.NEEDED, "CONFIG_TCP_MD5SIG=y"])
    with pytest.raises(UsageError, match=r"does not accept CONFIG_NO_SUCH=y of .*mine\.config"):
        configuration.refuse_what_does_not_take(taken, own)
    own.write_text("CONFIG_TCP_MD5SIG=y\nTCP_MINE=y\n")
    with pytest.raises(UsageError, match=r"mine\.config:2: TCP_MINE=y is not a kernel option") as caught:
        configuration.lines(own)
    assert caught.value.help == "write CONFIG_NAME=y, a line each"
    with pytest.raises(UsageError, match=r"cannot read .*: No such file"):
        configuration.lines(tmp_path / "none")


def test_a_kernel_is_called_by_name_id_or_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    with pytest.raises(UsageError, match='no kernel "mine"') as caught:
        named("mine")
    assert caught.value.help == "none has been built: sojourn linux build"
    write_kernel(cache(), "7.3.4")
    mine = write_patched(cache(), "1c0ffee1", "mine")
    assert [named(word) for word in ("mine", "7.3.4-1c0ffee1", "1c0ffee1")] == [mine] * 3
    assert named("7.3.4-12345678").label == "7.3.4-12345678"
    with pytest.raises(UsageError) as caught:
        named("mime")
    assert caught.value.help == 'did you mean "mine"?'


@pytest.mark.parametrize("name", ["", "7.3", "linux:mine", "a b", "a/b", "-x"])
def test_what_is_no_name_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    with pytest.raises(UsageError, match="cannot name a kernel"):
        check_name(name, "/trees/mine")


def test_with_the_last_kernel_of_a_tree_goes_what_was_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    first, second = (write_patched(cache(), digest, None) for digest in ("aaaaaaaa", "bbbbbbbb"))
    objects = objects_of(Path("/trees/mine"))
    objects.mkdir()
    assert remove(first) == [first.folder]
    assert objects.is_dir()
    assert remove(second) == [second.folder, objects]
    assert kernels() == []
    assert not objects.exists()


STEADY = """\
[experiment]
name = "steady"
duration = "10s"
[[hop]]
name = "bottleneck"
rate = "50mbit"
rtt = "20ms"
qdisc = "sch_mine knob 3"
[[flow]]
name = "steady"
cc = "steady"
"""


def test_words_of_a_kernel_are_right_where_it_is_to_run(tmp_path: Path) -> None:
    file = tmp_path / "steady.toml"
    file.write_text(STEADY)
    write_kernel(tmp_path / "linux", "7.3.4")
    write_patched(tmp_path / "linux", "1c0ffee1", "mine")
    on_sim = sojourn("run", str(file), "--dry-run", cache=tmp_path)
    assert on_sim.returncode == 2
    for said in (
        'the simulator has no congestion control "steady"',
        'the simulator has no queue discipline "sch_mine"',
        "help: kernel mine has it: --engine linux --kernel mine",
        "steady.toml:11",
    ):
        assert said in on_sim.stderr
    # The distribution's kernel stands for the stack, and has neither.
    on_stock = sojourn("run", str(file), "--dry-run", "--engine", "linux", cache=tmp_path)
    assert on_stock.returncode == 2
    for said in ("congestion control steady", "qdisc sch_mine"):
        assert f"{said}: kernel 7.3.4-12345678 does not have it (mine has it: --kernel mine)" in on_stock.stderr
    on_mine = sojourn("run", str(file), "--dry-run", "--engine", "linux", "--kernel", "mine", cache=tmp_path)
    # The remaining message is about this machine: no tc knows the discipline.
    assert "steady" not in on_mine.stderr.replace(str(file), "")
    file.write_text(STEADY.replace('cc = "steady"', 'cc = "stead"'))
    wrong = sojourn("run", str(file), "--dry-run", "--engine", "linux", "--kernel", "mine", cache=tmp_path)
    assert 'there is no congestion control "stead"' in wrong.stderr
    assert 'did you mean "steady"?' in wrong.stderr


def test_the_list_says_what_each_kernel_stands_for(tmp_path: Path) -> None:
    write_kernel(tmp_path / "linux", "7.3.4")
    write_kernel(tmp_path / "linux", "6.12.1")
    write_patched(tmp_path / "linux", "1c0ffee1", "mine")
    listed = json.loads(sojourn("linux", "list", "--json", cache=tmp_path).stdout)
    assert {k["id"]: k["stands_for"] for k in listed} == {
        "6.12.1-12345678": None,
        "7.3.4-12345678": "linux-7.3",
        "7.3.4-1c0ffee1": None,
    }
    shown = sojourn("linux", "list", cache=tmp_path).stdout
    assert "to run a kernel without a stack: --engine linux:KERNEL" in shown


def test_a_kernel_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    write_patched(tmp_path / "linux", "1c0ffee1", "mine")
    words = ("try", "cubic", "--engine", "linux", "--kernel")
    wrong = sojourn(*words, "mime", cache=tmp_path)
    assert wrong.returncode == 2
    assert 'there is no kernel "mime"' in wrong.stderr
    assert 'did you mean "mine"?' in wrong.stderr
    wrong = sojourn("try", "cubic", "--kernel", "mine", cache=tmp_path)
    assert wrong.returncode == 2
    assert "--engine linux --kernel mine" in wrong.stderr
    wrong = sojourn("try", "cubic", "--engine", "sim:mine", cache=tmp_path)
    assert wrong.returncode == 2
    assert "the engine sim has no kernels to choose from" in wrong.stderr


def test_what_kernels_have_is_listed(tmp_path: Path) -> None:
    write_kernel(tmp_path / "linux", "7.3.4")
    write_patched(tmp_path / "linux", "1c0ffee1", "mine")
    listed = json.loads(sojourn("ccs", "--engine", "linux", "--json", cache=tmp_path).stdout)
    assert [(entry["name"], entry["on_the_simulator"], entry["kernels"]) for entry in listed] == [
        ("cubic", True, ["7.3.4-12345678", "mine"]),
        ("steady", False, ["mine"]),
    ]
    one = json.loads(sojourn("qdiscs", "sch_mine", "--engine", "linux:mine", "--json", cache=tmp_path).stdout)
    assert one["kernels"] == ["mine"]
    kernel = json.loads(sojourn("linux", "list", "--json", cache=tmp_path).stdout)[1]
    assert (kernel["id"], kernel["name"], kernel["ccs"]) == ("7.3.4-1c0ffee1", "mine", ["cubic", "steady"])
    output = " ".join(sojourn("doctor", cache=tmp_path).stdout.split())
    assert "kernel mine for linux-7.3" in output
    assert "mainline has no steady" in output
    assert "never asked what it has" in output
    gone = sojourn("linux", "remove", "mine", cache=tmp_path)
    assert gone.stdout.strip() == f"removed {tmp_path / 'linux' / '7.3.4-1c0ffee1'}"
    assert sojourn("linux", "remove", "mine", cache=tmp_path).returncode == 2


def test_runs_on_two_kernels_are_two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they are of one version and one configuration."""
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    for digest, name in (("aaaaaaaa", "one"), ("bbbbbbbb", "two")):
        write_patched(cache(), digest, name, qdiscs=["pfifo", "fq_codel"])
    shape = {"rate": "50mbit", "rtt": "20ms", "qdisc": "pfifo"}
    keys = {
        name: Experiment.dumbbell(**shape, flows="steady", engine=f"linux:{name}").run_keys[0]
        for name in ("one", "two")
    }
    assert keys["one"].digest != keys["two"].digest
    assert keys["one"].scenario == keys["two"].scenario


def write_tc(file: Path, known: str) -> Path:
    """A tc that knows these disciplines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f'#!/bin/sh\ncase " {known} " in *" $6 "*) ;; *) echo "Unknown qdisc \\"$6\\"" >&2 ;; esac\nexit 1\n'
    )
    file.chmod(0o755)
    return file


def test_a_newer_tc_of_the_cache_is_asked_where_the_machines_own_does_not_know(tmp_path: Path) -> None:
    own = write_tc(tmp_path / "bin" / "tc", "codel")
    old = write_tc(tmp_path / "linux" / "tc-6.9.0" / "tc", "codel")
    new = write_tc(tmp_path / "linux" / "tc-6.18.0" / "tc", "codel dualpi2")
    assert iproute.built(tmp_path / "linux") == [new, old]
    assert iproute.unknown(["codel", "dualpi2", "bogus"], [own]) == ["dualpi2", "bogus"]
    assert iproute.unknown(["codel", "dualpi2", "bogus"], [own, new]) == ["bogus"]


def test_a_folder_that_is_no_tree_of_iproute2_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    monkeypatch.setattr("sojourn.linux.iproute.missing", lambda _purposes: [])
    with pytest.raises(UsageError, match="is not an iproute2 tree"):
        iproute.build(source=tmp_path)
    assert list((tmp_path / "linux").iterdir()) == []


def test_without_debians_keys_a_tree_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    monkeypatch.setattr("sojourn.linux.iproute.missing", lambda _purposes: [])
    monkeypatch.setattr("sojourn.linux.iproute._KEYS", tmp_path / "none.gpg")
    with pytest.raises(UsageError) as caught:
        iproute.build()
    assert caught.value.help is not None
    assert "--source DIR" in caught.value.help


def test_without_a_home_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the engine, which refuses by the same words: programs are run from the cache."""
    for name in ("HOME", "SOJOURN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="HOME are not set, so the place of kernels is unknown") as caught:
        cache()
    assert caught.value.help == "set SOJOURN_CACHE, or HOME, to a folder of your own"
