"""Flent's data files (``.flent.gz``, format version 4), out and in.

Facts of the format are from Flent's own documentation and files (docs/sources/harness.md#data-files); Flent itself is
not needed. :mod:`sojourn.interop.flent.series` says which number is which key, once for both directions.
"""

from sojourn.interop.flent.export import export, export_folder
from sojourn.interop.flent.incoming import incoming
from sojourn.interop.flent.read import FlentFile, read

__all__ = ["FlentFile", "export", "export_folder", "incoming", "read"]
