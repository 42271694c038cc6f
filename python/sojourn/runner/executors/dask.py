"""``--on dask://HOST:8786``: the workers of a Dask scheduler (the package ``distributed``).

A batch is a task. Dask itself sends a task again when its worker is lost; after as many deaths as the scheduler allows
(``distributed.scheduler.allowed-failures``, 3) it gives up with ``KilledWorker``. When the scheduler is restarted, all
that was under way is forgotten; we connect and send it again. A run on Linux needs a unit of the resource
``guest`` (``dask worker --resources guest=4``), so that there are no more guests than cores.
"""

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, Final

from sojourn import _core
from sojourn.errors import Refused, UsageError
from sojourn.runner.executors.workers import Asked, Workers

PATIENCE_S: Final = 120.0
"""How long a scheduler, or a first worker, is waited for."""

_COUNT_S: Final = 2.0
"""How often workers are counted."""

GUEST: Final = "guest"
"""The resource; each guest takes one unit."""


class Dask(Workers):
    """The workers of a scheduler."""

    together = False

    def __init__(self, address: str, asked: Asked) -> None:
        """Connect.

        Raises:
            Refused: if nobody answers, or has workers for this engine.
        """
        self._address = address
        self._engine = asked.engine
        self._kernels = _core.facts(asked.engine).kernels
        self._client: Any = None
        self._counted = (0.0, 0)
        super().__init__(self._connect, slots=1)

    def _connect(self) -> Any:  # noqa: ANN401 - distributed has no types
        from distributed import Client  # noqa: PLC0415 - an optional dependency

        if self._client is not None:
            self._client.close(timeout=1)
        began = time.monotonic()
        while True:
            try:
                connect: Any = Client
                self._client = connect(self._address, timeout=5, set_as_default=False, name="sojourn")
                break
            except (OSError, TimeoutError) as error:
                # A scheduler that is restarted is away for some seconds; one that never was there stays away.
                if self._counted == (0.0, 0) or time.monotonic() - began > PATIENCE_S:
                    raise Refused(
                        f"no Dask scheduler answers at {self._address}: {error}",
                        help="start one with `dask scheduler` (docs/howto/run-on-many-machines.md)",
                    ) from error
        resources = {GUEST: 1} if self._kernels else None
        return self._client.get_executor(pure=False, **({"resources": resources} if resources else {}))

    def slots(self) -> int:
        """Return how many batches are made at a time: cores of workers, or guests that they may have."""
        when, count = self._counted
        if time.monotonic() - when > _COUNT_S:
            try:
                count = max(self._count(), 1)
            except (OSError, TimeoutError, ValueError):
                count = max(count, 1)
            self._counted = (time.monotonic(), count)
        return count

    def _count(self) -> int:
        if self._kernels:
            workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
            return int(sum(own.get("resources", {}).get(GUEST, 0) for own in workers))
        return int(sum(self._client.nthreads().values()))

    def check(self, version: str) -> None:
        """Refuse workers of another build, each by name.

        Raises:
            Refused: if there are none, or one differs.
        """
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE_S)
        except TimeoutError as error:
            raise Refused(
                f"the Dask scheduler at {self._address} has no workers", help=f"start some: dask worker {self._address}"
            ) from error
        if self._kernels and self._count() == 0:
            raise Refused(
                f"no worker at {self._address} may start guests",
                help=f"start workers with --resources {GUEST}=N, N guests at a time: as many as it has cores",
            )
        differ = [
            f"{worker}: {build}" for worker, build in self.ask(_core.version, self._engine).items() if build != version
        ]
        if differ:
            raise Refused(
                f"workers have another build than this Sojourn, {version}:\n  " + "\n  ".join(differ),
                help="install the same Sojourn there, or end these workers",
            )

    def ask(self, what: Callable[..., Any], *about: object) -> dict[str, Any]:
        """Return the answer of each worker by its address, or an exception."""
        found: dict[str, Any] = self._client.run(what, *about, on_error="return")
        return found

    def submit(self, made: Any, request: bytes) -> "Future[Any]":  # noqa: ANN401
        """Send a batch; connect again if the scheduler is gone."""
        if self._client.status not in {"running", "connecting", "newly-created"}:
            self.executor = self._connect()
        return super().submit(made, request)

    def deaths(self, error: BaseException) -> int:
        """Return how many workers died; 0 for other errors."""
        from distributed.scheduler import KilledWorker  # noqa: PLC0415

        return int(error.allowed_failures) + 1 if isinstance(error, KilledWorker) else 0

    def out_of_touch(self, error: BaseException) -> bool:
        """Return whether the scheduler was restarted, or a worker lost with its finished batches."""
        from asyncio import CancelledError as Gone  # noqa: PLC0415

        return isinstance(error, (CancelledError, Gone, OSError, TimeoutError))

    def close(self) -> None:
        """Give up the batches under way."""
        self._client.close(timeout=2)


def opened(place: str, asked: Asked) -> Dask:
    """Return the workers of the scheduler at ``HOST:PORT``, or at ``tls://HOST:PORT``.

    Raises:
        UsageError: if there is no address, or the package is not installed.
        Refused: if nobody answers.
    """
    if not place:
        raise UsageError("--on dask names no scheduler", help="write --on dask://HOST:8786")
    try:
        import distributed  # noqa: F401, PLC0415
    except ImportError as error:
        raise UsageError("Dask is not installed here", help="pip install 'sojourn[dask]'") from error
    return Dask(place if "://" in place else f"tcp://{place}", asked)
