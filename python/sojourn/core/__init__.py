"""The data of results: runs, their store, cells and metrics. Views are in :mod:`sojourn.views`."""
