"""Several results folders as one: the parts of a campaign that were made in different places.

Every head is read before anything is copied, and every file of a run is compared with its checksum before the run is
copied. Only the files that its head names and its captures are copied, never through a link. Refused are folders of
different builds, and one name for two experiments: runs of the same label in two folders that are not the same run. A
run that several folders have must have the same tables in each, bit for bit; otherwise ``merge`` reports it, because it
should not be possible.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sojourn.core.store.atomic import copy_folder
from sojourn.core.store.folder import Folder
from sojourn.core.store.record import Record
from sojourn.core.store.verify import check
from sojourn.errors import StoreError

_SHOWN: Final = 5


def merge(sources: Sequence[Path], output: Path, *, command: str) -> tuple[int, int]:
    """Copy the runs of all folders into one, which may be there already.

    Returns:
        How many were copied, and how many were there already or in several folders.

    Raises:
        StoreError: if folders do not belong together, a run is damaged, or the place cannot be written.
    """
    folders = [Folder.open(path) for path in sources]
    versions = {folder.version: folder.path for folder in folders}
    if len(versions) > 1:
        named = ", ".join(f"{path} of {version}" for version, path in versions.items())
        raise StoreError(
            f"results of two builds do not go into one folder: {named}", help="make the runs of one of them again"
        )
    version = folders[0].version
    with Folder.create(output, version=version, command=command) as whole:
        found: dict[str, Record] = {record.path.name: record for record in whole.records()}
        there = len(found)
        labels = {(record.key.engine, record.key.label): record for record in found.values()}
        more = 0
        for record in (
            record for folder in folders if folder.path.resolve() != output.resolve() for record in folder.records()
        ):
            name = record.path.name
            if name in found:
                _refuse_other_results(found[name], record)
                more += 1
                continue
            _refuse_other_experiment(labels, record)
            found[name] = record
        whole.index.begin()
        for name, record in list(found.items())[there:]:
            check(record)
            copy_folder(record.files, whole.path / "runs" / name)
        return len(found) - there, more


def _refuse_other_results(one: Record, other: Record) -> None:
    tables = [_digests(record) for record in (one, other)]
    differ = sorted(name for name in {*tables[0], *tables[1]} if tables[0].get(name) != tables[1].get(name))
    if differ:
        shown = ", ".join(differ[:_SHOWN])
        raise StoreError(
            f"the same run has other results in {one.path} and {other.path}: {shown}",
            help="this should not be: make it again with one build and see which is right, and please report it",
        )


def _digests(record: Record) -> Mapping[str, Any]:
    return {name: (own["rows"], own.get("sha256")) for name, own in record.head["tables"].items()}


def _refuse_other_experiment(labels: dict[tuple[str, str], Record], record: Record) -> None:
    key = record.key
    known = labels.setdefault((key.engine, key.label), record)
    if known is not record and known.path.parent != record.path.parent:
        raise StoreError(
            f"{key.label} is one experiment in {known.path.parent.parent} and another in {record.path.parent.parent}",
            help="give one of them another name in its file, or merge into two folders",
        )
