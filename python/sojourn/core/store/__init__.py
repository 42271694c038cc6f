"""The results folder: one folder a run, whole or not there at all.

``manifest.json`` says which format and version the folder has and which command made it; ``runs/NAME/`` has a
run's ``scenario.json`` (everything needed to run it again) and one Parquet file a table. ``index.parquet`` has a row a
run, with its axes, its seed and its tables' files.
"""

from sojourn.core.store.folder import FORMAT, Folder
from sojourn.core.store.record import Record, record_files
from sojourn.core.store.run_key import RunKey

__all__ = ["FORMAT", "Folder", "Record", "RunKey", "record_files"]
