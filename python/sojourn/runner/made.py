"""A run that is made, as the files that are stored of it: wherever it was made, they are the same to the bit."""

import io
from collections.abc import Mapping

import polars as pl

from sojourn import _core
from sojourn.core.store import RunKey, record_files
from sojourn.views.remarks import remarks
from sojourn.views.run import Run


def files_of(
    key: RunKey, results: _core.Run, *, command: str, texts: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """Return the files of a run by their names.

    Args:
        key: the run.
        results: its results.
        command: the command that made it.
        texts: more files for people to read, by name.
    """
    tables = {name: pl.DataFrame(results.table(name)) for name in results.tables}
    texts = {**tc_logs(tables.pop("tc", None)), **(texts or {})}
    said = [remark.json() for remark in remarks(Run.fresh(key, results))]
    return record_files(key, command, tables, texts=texts, remarks=said)


def results_of(key: RunKey, files: Mapping[str, bytes]) -> _core.Run:
    """Return the results in these files, without the output of tc."""
    tables = {
        name.removesuffix(".parquet"): pl.read_parquet(io.BytesIO(content), memory_map=False)
        for name, content in files.items()
        if name.endswith(".parquet")
    }
    return _core.Run(key.resolved, key.engine, key.version, tables)


def tc_logs(table: pl.DataFrame | None) -> dict[str, str]:
    """Return what tc says before and after a run as files, the way the published harness keeps it."""
    if table is None:
        return {}
    texts: dict[str, list[str]] = {}
    for _, when, subject, text in table.cast({pl.Categorical: pl.String}).iter_rows():
        texts.setdefault(f"{when}.log", []).append(f"# {subject}\n{text}")
    return {name: "\n".join(parts) for name, parts in texts.items()}
