"""Somebody who throws the kill switch, over and over, and notes from when to when nothing may start."""

from collections.abc import Callable, Mapping, Sequence
from threading import Event

from scheduling.clock import monotonic
from tests.chaos.actor import Actor
from tests.chaos.desks import Api
from tests.chaos.load import NAMES, QUEUES, TENANTS
from tests.chaos.records import Paused

AGAIN = 0.2
"""Seconds before a resume that failed is asked for again."""
TRIES = 100
"""What still stands after them, the end of the run lifts."""

Scope = Mapping[str, str]
OPERATORS: Sequence[tuple[str, Scope]] = [
    ("token-operator", {}),
    *(("token-operator", {"queue": queue}) for queue in QUEUES),
    *(("token-operator", {"name": name}) for name in NAMES),
    ("token-operator", {"queue": QUEUES[0], "name": NAMES[0]}),
]
TENANTS_OWN: Sequence[tuple[str, Scope]] = [
    *((tenant.secret, {"tenant": tenant.slug}) for tenant in TENANTS),
    *((tenant.secret, {"tenant": tenant.slug, "queue": QUEUES[1]}) for tenant in TENANTS),
]
"""No scope is in both: who resumes what another paused would end the other's time as well."""


class Switch(Actor[Api]):
    """One scope at a time."""

    def __init__(
        self, name: str, seed: str, desk: Callable[[], Api], scopes: Sequence[tuple[str, Scope]]
    ) -> None:
        super().__init__(name, seed, desk)
        self.pauses: list[Paused] = []
        self._scopes = scopes
        self._number = 0

    def _pause(self) -> float:
        return self._rng.uniform(0.5, 2.0)

    def _act(self, desk: Api) -> None:
        self._number += 1
        secret, scope = self._rng.choice(self._scopes)
        token = f"{self.name}-{self._number}"
        self._throw(desk, token, secret, scope, self._rng.uniform(0.2, 1.5))

    def _throw(self, api: Api, token: str, secret: str, scope: Scope, seconds: float) -> None:
        answer = api.switch(secret, {**scope, "paused": True, "reason": token})
        received_at = monotonic()
        self.answers.append(answer)
        self._stop.wait(seconds)
        resumed_at = monotonic()
        if answer.status == 200:
            self.pauses.append(Paused(token, received_at, resumed_at, **scope))
        self._resume(api, secret, scope)

    def _resume(self, api: Api, secret: str, scope: Scope) -> None:
        """Until somebody says yes; also after a pause that failed, for it may have been committed."""
        for _ in range(TRIES):
            answer = api.switch(secret, {**scope, "paused": False})
            self.answers.append(answer)
            if answer.status == 200:
                return
            Event().wait(AGAIN)
