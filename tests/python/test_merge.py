import json
import subprocess
import sys
from pathlib import Path

import pytest

from by_hand import frames
from conftest import Make
from sojourn.core.store import Folder
from sojourn.core.store.merge import merge
from sojourn.core.store.verify import damages
from sojourn.errors import StoreError, UsageError
from sojourn.runner.shard import Shard
from sojourn.views.run import Run

KILLS = Path(__file__).parents[1] / "cluster" / "kills.py"
FULL = KILLS.with_name("full.py")


def store(path: Path, *runs: Run, version: str = "1") -> Path:
    with Folder.create(path, version=version, command="by hand") as folder:
        for run in runs:
            folder.add(run.key, frames(run), command="by hand")
    return path


def names(path: Path) -> list[str]:
    return sorted(record.name for record in Folder.open(path).records())


def sojourn(*words: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "sojourn", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_run_belongs_to_one_shard_whatever_else_is_run(make_run: Make) -> None:
    keys = [make_run(seed=seed).key for seed in range(1, 60)]
    parts = [Shard(number, 7).part(keys) for number in range(1, 8)]
    assert sorted(key.digest for part in parts for key in part) == sorted(key.digest for key in keys)
    assert all(parts)
    assert Shard(3, 7).part(keys[::-2]) == [key for key in keys[::-2] if key in parts[2]]
    assert Shard(1, 1).part(keys) == keys


@pytest.mark.parametrize("words", ["0/3", "4/3", "3", "1/0", "-1/3", "1/3/5", "one/3"])
def test_what_is_no_shard_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match="is no part of a campaign"):
        Shard.parse(words)


def test_parts_come_together(tmp_path: Path, make_run: Make) -> None:
    runs = [make_run(seed=seed) for seed in (1, 2, 3)]
    parts = [store(tmp_path / "a", *runs[:2]), store(tmp_path / "b", *runs[1:])]
    assert merge(parts, tmp_path / "all", command="x") == (3, 1)
    assert names(tmp_path / "all") == names(store(tmp_path / "whole", *runs))
    for one, other in zip(*(Folder.open(tmp_path / name).records() for name in ("all", "whole")), strict=True):
        assert one.head == other.head
        assert one.results().digests() == other.results().digests()
    assert merge(parts, tmp_path / "all", command="x") == (0, 4)


def test_two_builds_do_not_come_together(tmp_path: Path, make_run: Make) -> None:
    parts = [store(tmp_path / "a", make_run()), store(tmp_path / "b", make_run(seed=2), version="2")]
    with pytest.raises(StoreError, match=r"results of two builds do not go into one folder: .*a of 1, .*b of 2"):
        merge(parts, tmp_path / "all", command="x")
    assert not (tmp_path / "all").exists()


def test_one_name_for_two_experiments_is_refused(tmp_path: Path, make_run: Make) -> None:
    parts = [store(tmp_path / "a", make_run()), store(tmp_path / "b", make_run(rate="20Mbit"))]
    with pytest.raises(StoreError, match=r"by-hand#1 is one experiment in .*a and another in .*b"):
        merge(parts, tmp_path / "all", command="x")
    assert names(tmp_path / "all") == []


def test_the_same_run_with_other_results_is_said(tmp_path: Path, make_run: Make) -> None:
    run, other = make_run(), make_run(rates_mbps=(1.0, 2.0))
    assert run.key == other.key
    parts = [store(tmp_path / "a", run), store(tmp_path / "b", other)]
    with pytest.raises(StoreError, match=r"has other results in .*a than in .*b: flow"):
        merge(parts, tmp_path / "all", command="x")
    assert names(tmp_path / "all") == []


def test_a_damaged_part_is_not_copied(tmp_path: Path, make_run: Make) -> None:
    part = store(tmp_path / "a", make_run())
    flip(next(part.glob("segments/*")))
    with pytest.raises(StoreError, match="SHA-256"):
        merge([part], tmp_path / "all", command="x")
    assert not (tmp_path / "all").exists()


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_the_store_from_the_command_line(tmp_path: Path, make_run: Make) -> None:
    part = store(tmp_path / "a", make_run(), make_run(seed=2))
    (part / "runs" / ".unfinished-x").mkdir(parents=True)
    [line] = json.loads(sojourn("store", "ls", part, "--json").stdout)
    assert (line["experiment"], line["cells"], line["runs"]) == ("by-hand", 1, 2)
    [file] = part.glob("segments/*")
    assert json.loads(sojourn("store", "du", part, "--json").stdout)["segments"] == file.stat().st_size
    assert sojourn("store", "verify", part).stdout.splitlines()[-1] == "2 runs, 0 damaged"
    content = bytearray(file.read_bytes())
    # The second run is the last before the second copy of the dictionary, which is nearly half of the file.
    [found] = [at for at in (content.rfind(b"T\0\0\0"),) if at > 0]
    content[found + 60] ^= 1
    file.write_bytes(content)
    output = sojourn("store", "verify", part)
    assert output.returncode == 1
    assert "2 runs, 1 damaged" in output.stdout
    assert "would be removed" in sojourn("store", "prune", part, "--damaged").stdout
    assert len(names(part)) == 2
    assert sojourn("store", "prune", part, "--damaged", "--yes").returncode == 0
    assert Folder.open(part).unfinished() == []
    assert len(names(part)) == 1
    assert sojourn("store", "verify", part).returncode == 0
    wrong = sojourn("store", "prune", part, "--experiment", "by-hnd", "--yes")
    assert wrong.returncode == 2
    assert 'did you mean "by-hand"?' in wrong.stderr
    assert sojourn("store", "prune", part).returncode == 2


def test_kills_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, KILLS, "30", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("30 kills")


def test_shards_from_the_command_line_are_the_whole(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        '[experiment]\nname = "small"\nduration = "1s"\nseeds = 2\n'
        '[[hop]]\nname = "b"\nrate = "1mbit"\nrtt = "10ms"\nqdisc = "fq_codel"\n[[flow]]\nname = "one"\ncc = "reno"\n'
    )
    sojourn("run", file, "-o", tmp_path / "whole")
    made = [sojourn("run", file, "-o", tmp_path / str(n), "--shard", f"{n}/3") for n in (1, 2, 3)]
    assert [done.returncode for done in made] == [0, 0, 0]
    assert sorted(int(done.stderr.split(": ")[1].split()[0]) for done in made) in ([0, 0, 2], [0, 1, 1])
    done = sojourn("merge", *(tmp_path / str(n) for n in (1, 2, 3)), "-o", tmp_path / "all")
    assert done.stdout.startswith("2 runs copied")
    assert names(tmp_path / "all") == names(tmp_path / "whole")


def blocks(segment: bytes) -> list[tuple[str, int]]:
    """Return the kind of each block of a segment, and where it ends: a length, a kind, a checksum, the payload."""
    found, at = [], 16
    while at + 40 <= len(segment) and (kind := chr(segment[at + 4])) in "DTAHI":
        at += 40 + int.from_bytes(segment[at : at + 4], "little")
        found.append((kind, at))
    return found


def test_a_disk_without_room_leaves_whole_runs_and_a_way_on(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        '[experiment]\nname = "small"\nduration = "2s"\n[axis.rate]\n"slow" = { hop.b.rate = "100kbit" }\n'
        '"fast" = { hop.b.rate = "100mbit" }\n'
        '[[hop]]\nname = "b"\nrate = "1mbit"\nrtt = "10ms"\nqdisc = "fq_codel"\n[[flow]]\nname = "one"\ncc = "reno"\n'
    )
    # No file may be larger than a segment with the first run, which stands for a disk that fills up under way.
    sojourn("run", file, "-o", tmp_path / "whole", "--threads", "1")
    [segment] = (tmp_path / "whole" / "segments").iterdir()
    most = blocks(segment.read_bytes())[3][1]
    words = ["run", str(file), "-o", str(tmp_path / "r"), "--threads", "1"]
    limited = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}));"
        f"import sys; sys.argv = {['sojourn', *words]!r}; from sojourn.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "could not be written: File too large" in done.stderr
    assert len(names(tmp_path / "r")) == 1
    assert list(damages(Folder.open(tmp_path / "r"))) == []
    assert sojourn(*words).returncode == 0
    assert names(tmp_path / "r") == names(tmp_path / "whole")


def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path) -> None:
    spaces = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "true"], check=False)  # noqa: S607
    if spaces.returncode:
        pytest.skip("this machine refuses user namespaces")
    done = subprocess.run([sys.executable, FULL, tmp_path / "full", "16"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
