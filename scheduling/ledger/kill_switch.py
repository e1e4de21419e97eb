"""What the pauses in force stop, as a claim asks it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class InLane(Protocol):
    @property
    def tenant_id(self) -> int: ...
    @property
    def queue(self) -> str: ...


@dataclass(frozen=True, slots=True)
class KillSwitch:
    """The pauses in force at one instant: (tenant or None, queue or "", name or "") each.

    A claim reads them in its own transaction, so it obeys what was committed before.
    """

    pauses: tuple[tuple[int | None, str, str], ...]

    @property
    def stops_everything(self) -> bool:
        return (None, "", "") in self.pauses

    def stops_lane(self, lane: InLane) -> bool:
        return any(not name for name in self._names_over(lane))

    def names_paused_in(self, lane: InLane) -> set[str]:
        return {name for name in self._names_over(lane) if name}

    def stops(self, lane: InLane, name: str) -> bool:
        return any(paused in ("", name) for paused in self._names_over(lane))

    def _names_over(self, lane: InLane) -> Iterable[str]:
        return (
            name
            for tenant_id, queue, name in self.pauses
            if tenant_id in (None, lane.tenant_id) and queue in ("", lane.queue)
        )
