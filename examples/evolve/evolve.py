"""A loop of random mutations of a control in Python: score, keep what is better, go on; then ask the test set.

    python examples/evolve/evolve.py                       # 200 mutations of examples/evolve/control.py
    python examples/evolve/evolve.py --mutations 20 --seed 2 -o winner.py
    sojourn score python:winner.py:Evolved --on test

A mutation multiplies one of the numbers by a random factor. Each is scored on the set `train`; the same seed gives
the same winner, bit by bit. The set `test` is asked once, at the end: a winner that is good on `train` alone has
learnt `train`.
"""

import argparse
import math
import random
import re
import tempfile
from pathlib import Path

from sojourn.score import score

HERE = Path(__file__).parent
NUMBERS = re.compile(r"^([A-Z_]+) = ([0-9.]+)$", re.MULTILINE)


def numbers(text: str) -> dict[str, float]:
    """Return the numbers of a control's file."""
    return {name: float(value) for name, value in NUMBERS.findall(text)}


def written(text: str, own: dict[str, float]) -> str:
    """Return the file with other numbers."""
    return NUMBERS.sub(lambda found: f"{found[1]} = {own[found[1]]:.6g}", text)


def mutated(own: dict[str, float], draw: random.Random) -> dict[str, float]:
    """Return the numbers with one of them changed."""
    name = draw.choice(sorted(own))
    value = own[name] * math.exp(draw.gauss(0.0, 0.4))
    return {**own, name: min(value, 0.999) if name in {"BACK", "BETA"} else value}


def main() -> None:
    """Evolve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=Path("winner.py"))
    said = parser.parse_args()
    draw = random.Random(said.seed)  # noqa: S311 - no secret
    text = (HERE / "control.py").read_text(encoding="utf-8")
    best = numbers(text)
    with tempfile.TemporaryDirectory() as folder:

        def scored(own: dict[str, float], number: int, on: str = "train") -> float:
            # A file of its own each: Python keeps modules by their names.
            file = Path(folder) / f"control_{on}_{number}.py"
            file.write_text(written(text, own), encoding="utf-8")
            return score(f"python:{file}:Evolved", on=on, threads=1).number

        top = scored(best, 0)
        start = best
        print(f"start: {top:.2f}")
        for number in range(1, said.mutations + 1):
            own = mutated(best, draw)
            value = scored(own, number)
            if value > top:
                best, top = own, value
                print(f"{number:4}: {top:.2f}  " + "  ".join(f"{name} {value:.3g}" for name, value in best.items()))
        before, after = scored(start, 0, "test"), scored(best, 0, "test")
        print(f"on test: {before:.2f} at the start, {after:.2f} for the winner")
    said.output.write_text(written(text, best), encoding="utf-8")
    print(f"written to {said.output}")


if __name__ == "__main__":
    main()
