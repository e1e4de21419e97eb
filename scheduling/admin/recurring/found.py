"""Finding the recurring task that an address names."""

from uuid import UUID

from django.http import Http404

from scheduling.models import RecurringTask


def found(pk: UUID) -> RecurringTask:
    row = RecurringTask.objects.select_related("tenant").filter(pk=pk).first()
    if row is None:
        raise Http404("There is no such recurring task.")
    return row
