"""Who is alive, where, since when, and with how many slots."""

from datetime import datetime, timedelta
from typing import ClassVar, Self

from django.db import models

SILENT_AFTER = timedelta(seconds=30)
"""Workers say that they live every ten seconds."""


class WorkerProcessQuerySet(models.QuerySet["WorkerProcess"]):
    def alive(self, now: datetime) -> Self:
        return self.filter(seen_at__gte=now - SILENT_AFTER)


class WorkerProcess(models.Model):
    """One life of one worker process. A restart is another worker, whatever its host and pid.

    `host_life` names the boot and the process namespace, `started_ticks` the kernel's start time of
    the pid: with both, a worker on the same host can tell for certain that this one is gone.
    """

    id = models.UUIDField(primary_key=True)
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    host_life = models.CharField(max_length=100, blank=True)
    started_ticks = models.BigIntegerField(default=0)
    version = models.CharField(max_length=50, blank=True)
    queues = models.JSONField(default=list, help_text="Empty: every queue.")
    slots = models.PositiveIntegerField(default=1)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    objects = WorkerProcessQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-started_at"]

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"

    def is_silent(self, now: datetime) -> bool:
        return now - self.seen_at > SILENT_AFTER
