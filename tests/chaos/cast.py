"""Everybody who wants something of the ledger, beside the workers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.chaos.actor import Actor
from tests.chaos.desks import Api, Python
from tests.chaos.load import Caller
from tests.chaos.stage import Stage
from tests.chaos.switch import OPERATORS, TENANTS_OWN, Switch
from tests.chaos.zombie import Zombie

HTTP_CALLERS = 3
ZOMBIES = 2
LOOK = 0.1


@dataclass(frozen=True)
class Cast:
    callers: Sequence[Caller]
    switches: Sequence[Switch]
    zombies: Sequence[Zombie]

    def everybody(self) -> list[Actor[Any]]:
        return [*self.callers, *self.switches, *self.zombies]

    def leave(self, meanwhile: Callable[[], None]) -> None:
        """All of them, when they have finished what they are at, for which they may need a web server."""
        for actor in self.everybody():
            actor.ask_to_stop()
        for actor in self.everybody():
            while not actor.has_left(LOOK):
                meanwhile()

    def complaints(self) -> list[str]:
        return [f"{one.name} broke off" for one in self.everybody() if not one.ended_well]


def hire(stage: Stage, seed: str) -> Cast:
    api = partial(Api, stage.web_url)
    return Cast(
        [
            *(Caller(f"http-{number}", seed, api) for number in range(HTTP_CALLERS)),
            Caller("python", seed, Python),
        ],
        [Switch("operator", seed, api, OPERATORS), Switch("tenants", seed, api, TENANTS_OWN)],
        [Zombie(f"zombie-{number}", seed) for number in range(ZOMBIES)],
    )
