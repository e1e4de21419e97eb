"""A table as anybody would have one, for the plain view to write to."""

from typing import ClassVar

from django.db import models


class Entry(models.Model):
    """What was posted, and when."""

    name = models.CharField(max_length=200)
    payload = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[models.Manager["Entry"]] = models.Manager()

    def __str__(self) -> str:
        return self.name
