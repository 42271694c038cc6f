"""What is kept of each fuzz target's corpus is read or refused with a message, and so are texts made from it."""

from pathlib import Path

import pytest

from fuzz_mutate import mutated
from fuzz_targets import CORPUS, TARGETS, attempt, corpus

COUNT = 150
"""Mutants of each target: some seconds' worth; `make fuzz` looks further."""


def test_every_target_has_a_corpus() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)
    for target in TARGETS:
        assert len(corpus(target)) >= 3, target


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_is_read_or_refused(target: str) -> None:
    for content in corpus(target):
        assert attempt(target, content) is None


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_made_of_it_is_read_or_refused(target: str) -> None:
    kept = corpus(target)
    wrong = {seed: said for seed in range(COUNT) if (said := attempt(target, mutated(kept, seed))) is not None}
    assert not wrong


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_begins_with_one_that_is_right(target: str, tmp_path: Path) -> None:
    """A corpus that is all refused would find nothing behind the first check."""
    TARGETS[target](corpus(target)[0], tmp_path)


def test_a_mutant_is_decided_by_its_seed() -> None:
    kept = corpus("batch")
    assert [mutated(kept, seed) for seed in range(20)] == [mutated(kept, seed) for seed in range(20)]
    assert len({mutated(kept, seed) for seed in range(100)}) > 80
