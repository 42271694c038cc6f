"""The results folder: many runs in few files.

``manifest.json`` says which format and version the folder has and which command made it. ``segments/*.runs`` hold the
runs: each with its scenario (everything needed to run it again), the answers to the usual questions, and its tables
(``crates/store`` describes the format). ``runs/NAME/`` has the captures of a run that was made with ``--pcap``.
"""

from sojourn.core.store.folder import FORMAT, Folder
from sojourn.core.store.record import Record
from sojourn.core.store.run_key import RunKey

__all__ = ["FORMAT", "Folder", "Record", "RunKey"]
