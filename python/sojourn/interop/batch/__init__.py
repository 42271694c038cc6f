"""Flent batch files, with the hooks of the ``fl`` harness, as experiments of ours.

The published L4S and SCE tests are batch files: Flent's language for many runs (sections that inherit from each other,
``for_`` keys with a run for each combination, ``${name}`` in every value) and, in the commands before a run, a harness
that sets up queues and delays from hook strings. Sojourn runs such a file as it is.

Sources: Flent's documentation of batch files; the l4s-tests and sce-l4s-ect1 repositories' batch files and ``fl``, of
which the facts used here are the sections' grammar (:mod:`.language`), what a run's values expand to (:mod:`.expand`),
how the shell and the harness take quotes off (:mod:`.shell`), what the hooks set up (:mod:`.hooks`) and which flows a
test has (:mod:`.flows`).

Invariant: every character knows the line that it came from, through inheritance and expansion, so that errors name the
place of words that cannot be mapped. Nothing is left out in silence: tables list the words without effect here, and
all others are an error before anything runs.
"""

from sojourn.interop.batch.run import Note, Selection, load

__all__ = ["Note", "Selection", "load"]
