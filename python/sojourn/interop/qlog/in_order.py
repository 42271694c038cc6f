"""How much of each stream is there in order, from parts that come in any order."""


class InOrder:
    """Parts of streams."""

    def __init__(self) -> None:
        self._ends: dict[str, int] = {}
        self._early: dict[str, dict[int, int]] = {}
        self.total = 0
        """Bytes that are there in order, of all streams."""

    def add(self, stream: str, offset: int, length: int) -> None:
        """A part is there. Parts may overlap."""
        end = self._ends.get(stream, 0)
        if offset > end:
            early = self._early.setdefault(stream, {})
            early[offset] = max(early.get(offset, 0), offset + length)
            return
        before, end = end, max(end, offset + length)
        early = self._early.get(stream, {})
        while early and (ready := [start for start in early if start <= end]):
            end = max(end, *(early.pop(start) for start in ready))
        self._ends[stream] = end
        self.total += end - before
