"""Several results folders as one: the parts of a campaign that were made in different places.

Every block is compared with its checksum when it is copied, captures too. Refused are folders of different builds, and
one name for two experiments: runs of the same label in two folders that are not the same run. A run that several
folders have must have the same tables in each, bit for bit; otherwise ``merge`` reports it: it should not be
possible.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from sojourn.core.store.atomic import copy_folder
from sojourn.core.store.folder import Folder
from sojourn.core.store.record import CAPTURES, Record
from sojourn.core.store.verify import check_captures, damages
from sojourn.errors import StoreError

_SHOWN: Final = 5


def merge(sources: Sequence[Path], output: Path, *, command: str) -> tuple[int, int]:
    """Copy the runs of all folders into one, which may be there already.

    Returns:
        How many were copied, and how many were there already or in several folders.

    Raises:
        StoreError: if folders do not belong together, a run is damaged, or the place cannot be written.
    """
    folders = [Folder.open(path) for path in sources if path.resolve() != output.resolve()]
    versions = {folder.version: folder.path for folder in map(Folder.open, sources)}
    if len(versions) > 1:
        named = ", ".join(f"{path} of {version}" for version, path in versions.items())
        raise StoreError(
            f"results of two builds do not go into one folder: {named}", help="make the runs of one of them again"
        )
    [version] = versions
    for folder in folders:
        for damage in damages(folder):
            raise StoreError(damage.message, help=f"`sojourn store verify {folder.path}` lists all damage")
    with Folder.create(output, version=version, command=command) as whole:
        found: dict[str, Record] = {record.name: record for record in whole.records()}
        labels = {(r.brief.engine, _label(r)): r for r in found.values()}
        more = 0
        new: list[Record] = []
        for record in (record for folder in folders for record in folder.records()):
            if record.name in found:
                _refuse_other_results(found[record.name], record)
                more += 1
                continue
            _refuse_other_experiment(labels, record)
            found[record.name] = record
            new.append(record)
        for folder in folders:
            whole.store.take(folder.store)
        for record in new:
            if record.captures:
                check_captures(record)
                target = whole.named(record.name).path
                target.parent.mkdir(exist_ok=True)
                copy_folder([record.path / CAPTURES, *record.captures], target)
        return len(new), more


def _label(record: Record) -> str:
    labels = ",".join(label for _, label in record.brief.labels)
    return f"{record.brief.experiment}{f'[{labels}]' if labels else ''}#{record.brief.seed}"


def _refuse_other_results(one: Record, other: Record) -> None:
    tables = [_digests(record) for record in (one, other)]
    differ = sorted(name for name in tables[0].keys() & tables[1].keys() if tables[0][name] != tables[1][name])
    if differ:
        shown = ", ".join(differ[:_SHOWN])
        raise StoreError(
            f"the run {one.name} has other results in {one.folder} than in {other.folder}: {shown}",
            help="this should not be: make it again with one build and see which is right, and please report it",
        )


def _digests(record: Record) -> Mapping[str, str]:
    return dict(record.results().digests())


def _refuse_other_experiment(labels: dict[tuple[str, str], Record], record: Record) -> None:
    label = _label(record)
    known = labels.setdefault((record.brief.engine, label), record)
    if known is not record and known.folder != record.folder:
        raise StoreError(
            f"{label} is one experiment in {known.folder} and another in {record.folder}",
            help="give one of them another name in its file, or merge into two folders",
        )
