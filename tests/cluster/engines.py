"""The cost of others' engines compared with ours: the same runs, made and encoded by worker processes, and dropped.

    python tests/cluster/engines.py RUNS [ENGINE...] [--workers 2]

Each engine is used as its documentation begins: a task a run. Ours sends batches of about two seconds. ``one`` is this
process alone, which two workers cannot do more than halve; name it first. joblib and ray
are no dependencies of the project: pip install joblib ray. Prints a row of a table for each; every engine has a
process of its own, so that memory is its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from sojourn import _core
from sojourn.core.store import RunKey
from sojourn.experiments.experiment import parse
from sojourn.runner.executors import Asked, batch, opened

EXPERIMENT: Final = """
[experiment]
name = "short"
seeds = SEEDS
duration = "1s"
[[hop]]
name = "bottleneck"
rate = "5mbit"
rtt = "20ms"
qdisc = "fq_codel"
[[flow]]
name = "one"
cc = "cubic"
"""

BATCH_S: Final = 2.0


def keys(runs: int) -> Sequence[RunKey]:
    """Return ``runs`` runs that differ in their seed."""
    return parse(EXPERIMENT.replace("SEEDS", str(runs)), "short.toml", yes=True).run_keys


def request(some: Sequence[RunKey]) -> bytes:
    """Return what is sent for these."""
    return batch.request(some, engine="sim", build=_core.version("sim"), command="")


def size(sent: bytes) -> tuple[int, float]:
    """Make the runs of a request; return the bytes of their files, and the CPU time."""
    answer = batch.make(sent)
    return sum(len(one) for one in answer["made"]), answer["cpu_s"]


Sizes = Iterable[tuple[int, float]]


def one(requests: Sequence[bytes], workers: int) -> Sizes:
    """Make all in this process."""
    del workers
    return [size(own) for own in requests]


def futures(requests: Sequence[bytes], workers: int) -> Sizes:
    """Python's own processes."""
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(size, requests))


def ours(requests: Sequence[bytes], workers: int) -> Sizes:
    """Our batches, by the executor of --on processes."""
    on = opened(f"processes:{workers}", Asked("sim", workers))
    # The first run pays for what is only read once.
    size(requests[0])
    each = max(int(BATCH_S / max(size(requests[1])[1], 1e-4)), 1)
    batches = [requests[start : start + each] for start in range(0, len(requests), each)]
    made = [own.result() for own in [on.executor.submit(sizes, own) for own in batches]]
    on.close()
    return made


def sizes(requests: Sequence[bytes]) -> tuple[int, float]:
    """Make several requests, as one task."""
    found = [size(own) for own in requests]
    return sum(own for own, _ in found), sum(cpu for _, cpu in found)


def joblib(requests: Sequence[bytes], workers: int) -> Sizes:
    """joblib with its default backend."""
    import joblib as own  # noqa: PLC0415 - of engines that may be missing

    made: Sizes = own.Parallel(n_jobs=workers)(own.delayed(size)(sent) for sent in requests)
    return made


def dask(requests: Sequence[bytes], workers: int) -> Sizes:
    """Dask distributed on this machine."""
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        made: Sizes = client.gather(client.map(size, requests))
        return made


def ray(requests: Sequence[bytes], workers: int) -> Sizes:
    """Ray on this machine."""
    import ray as own  # noqa: PLC0415

    own.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    task = own.remote(size)
    made: Sizes = own.get([task.remote(sent) for sent in requests])
    own.shutdown()
    return made


ENGINES: Final[dict[str, Callable[[Sequence[bytes], int], Sizes]]] = {
    "one": one,
    "futures": futures,
    "ours": ours,
    "joblib": joblib,
    "dask": dask,
    "ray": ray,
}


def alone(name: str, runs: int, workers: int) -> dict[str, float]:
    """Measure one engine in this process."""
    requests = [request([key]) for key in keys(runs)]
    began = time.monotonic()
    made = list(ENGINES[name](requests, workers))
    took = time.monotonic() - began
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "bytes": sum(own for own, _ in made),
        "made_s": sum(cpu for _, cpu in made),
        "took_s": took,
        "self_mb": used[0].ru_maxrss / 1024,
        "child_mb": used[1].ru_maxrss / 1024,
    }


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=int)
    parser.add_argument("engines", nargs="*", default=list(ENGINES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help="print what this process measures of one engine")
    asked = parser.parse_args()
    if asked.alone:
        say(json.dumps(alone(asked.engines[0], asked.runs, asked.workers)))
        return
    say(f"{asked.runs} runs, {asked.workers} workers; load {os.getloadavg()[0]:.1f}")
    say("| engine | s | runs/s | making, CPU s | above a share of `one`, % | asking, MB | largest worker, MB |")
    say("|---|---:|---:|---:|---:|---:|---:|")
    ideal = 0.0
    for name in asked.engines:
        words = [sys.executable, __file__, str(asked.runs), name, "--alone", "--workers", str(asked.workers)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            say(f"| {name} | {done.stderr.strip().splitlines()[-1]} | | | | | |")
            continue
        own = json.loads(done.stdout.splitlines()[-1])
        if name == "one":
            ideal = own["took_s"] / asked.workers
        over = f"{(own['took_s'] / ideal - 1) * 100:.0f}" if ideal and name != "one" else "–"
        # Workers that nobody waited for have not reported.
        child = f"{own['child_mb']:.0f}" if own["child_mb"] else "–"
        say(
            f"| {name} | {own['took_s']:.1f} | {asked.runs / own['took_s']:.0f} | {own['made_s']:.1f} | {over} "
            f"| {own['self_mb']:.0f} | {child} |"
        )


if __name__ == "__main__":
    main()
