"""What an experiment's results are, and what is said of them: runs, their store, cells, metrics, tables."""
