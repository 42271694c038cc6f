"""qlog, what QUIC implementations log of themselves (draft-ietf-quic-qlog-main-schema-14, -quic-events-14), in and out.

:mod:`~sojourn.interop.qlog.records` takes a file apart, :mod:`~sojourn.interop.qlog.events` says what its events are
called and mean, :mod:`~sojourn.interop.qlog.connection` adds them up to the columns of a flow.
"""

from sojourn.interop.qlog.export import export_folder, export_runs
from sojourn.interop.qlog.incoming import incoming
from sojourn.interop.qlog.records import is_qlog

__all__ = ["export_folder", "export_runs", "incoming", "is_qlog"]
