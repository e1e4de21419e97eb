"""How long the ledger's verbs take."""

from django.db import models

SECONDS_UP_TO = {
    "1ms": 0.001,
    "2500us": 0.0025,
    "5ms": 0.005,
    "10ms": 0.01,
    "25ms": 0.025,
    "50ms": 0.05,
    "100ms": 0.1,
    "250ms": 0.25,
    "500ms": 0.5,
    "1s": 1.0,
    "5s": 5.0,
}
TOOK = tuple(f"took_{bound}" for bound in SECONDS_UP_TO)
"""Columns: how many of the calls took no longer than that."""


class Pace(models.Model):
    """What calls of one verb took, in all processes so far. It only ever grows."""

    verb = models.CharField(max_length=10, primary_key=True)
    calls = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0)

    def __str__(self) -> str:
        return f"{self.verb}: {self.calls} calls"


for column in TOOK:
    Pace.add_to_class(column, models.BigIntegerField(default=0))
