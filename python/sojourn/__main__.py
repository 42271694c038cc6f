"""``python -m sojourn`` is the command line."""

from sojourn.cli import main

main()
