"""An operation on all dead letters that match, worked off step by step."""

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q

from scheduling.models.operator_action import OperatorAction


class SweepQuerySet(models.QuerySet["Sweep"]):
    def under_way(self) -> Self:
        return self.filter(state=Sweep.State.UNDER_WAY)


class Sweep(models.Model):
    """How far an operator's redrive or discard of many has got, so that any worker goes on with it until it ends.

    It looks at the dead letters in the order of (tenant, id) and remembers where it stopped; what died after
    it began it leaves alone. What it has done is done, whatever becomes of it.
    """

    class State(models.TextChoices):
        UNDER_WAY = "under way"
        FINISHED = "finished"
        CANCELLED = "cancelled"

    class Operation(models.TextChoices):
        """With what is said of those it was done to."""

        REDRIVE = "redrive", "redriven"
        DISCARD = "discard", "discarded"

    operation = models.CharField(max_length=10, choices=Operation.choices)
    which = models.CharField(max_length=400, help_text="What matches, in words.")
    asked = models.JSONField(default=dict, help_text="The same as it is looked for. Empty: all.")
    filters = models.TextField(help_text="The same as the console's address has it.")
    until = models.DateTimeField(help_text="Only what was dead by then.")
    per_second = models.FloatField(
        null=True,
        blank=True,
        help_text="No more than so many on average. Empty: as fast as it goes.",
    )
    expected = models.PositiveIntegerField(
        null=True, help_text="How many matched when it began. Empty: too many to count."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.UNDER_WAY)
    begun_by = models.CharField(max_length=150)
    begun_at = models.DateTimeField()
    stepped_at = models.DateTimeField(help_text="When its last step was taken.")
    after_tenant = models.BigIntegerField(default=0)
    after_task = models.UUIDField(null=True)
    done = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    full = models.JSONField(default=dict, help_text="Tenants that had no room for more, and why.")
    note = models.TextField(blank=True, help_text="What is left, and why.")
    action = models.ForeignKey(
        OperatorAction, on_delete=models.SET_NULL, null=True, related_name="+"
    )

    objects = SweepQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["id"], name="sweep_under_way", condition=Q(state="under way"))
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                name="sweep_rate", condition=Q(per_second=None) | Q(per_second__gt=0)
            )
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.which}"
