"""Who works the ledger, and the lanes they work: to look at."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import clock
from scheduling.admin import words
from scheduling.admin.filters import TenantFilter
from scheduling.admin.lists import ReadOnlyAdmin
from scheduling.admin.site import console
from scheduling.models import Lane, Lease, WorkerProcess

BUSY = (
    Lease.objects.filter(worker=OuterRef("pk"))
    .order_by()
    .values("worker")
    .annotate(count=Count("task"))
    .values("count")
)


@admin.register(WorkerProcess, site=console)
class WorkerAdmin(ReadOnlyAdmin[WorkerProcess]):
    title = "Workers"
    list_display = ("process", "version", "served", "busy", "started", "seen")
    list_display_links = None
    ordering: ClassVar = ["-started_at", "-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkerProcess]:
        busy = Coalesce(Subquery(BUSY, output_field=IntegerField()), 0)
        return super().get_queryset(request).annotate(busy=busy)

    @admin.display(description="worker")
    def process(self, worker: WorkerProcess) -> SafeString:
        return format_html('{}<br><span class="task-id">{}</span>', worker, worker.pk)

    @admin.display(description="queues")
    def served(self, worker: WorkerProcess) -> str:
        return ", ".join(worker.queues) or "all"

    @admin.display(description="slots busy")
    def busy(self, worker: Any) -> str:
        return f"{worker.busy} / {worker.slots}"

    @admin.display(description="started")
    def started(self, worker: WorkerProcess) -> SafeString | str:
        return words.stamp(worker.started_at, clock.now())

    @admin.display(description="last seen")
    def seen(self, worker: WorkerProcess) -> SafeString | str:
        now = clock.now()
        seen = words.stamp(worker.seen_at, now)
        silent = format_html('<span class="warn">{} · silent</span>', seen)
        return silent if worker.is_silent(now) else seen


@admin.register(Lane, site=console)
class LaneAdmin(ReadOnlyAdmin[Lane]):
    title = "Lanes"
    list_display = ("tenant", "queue", "holds", "turn")
    list_display_links = None
    list_select_related: ClassVar = ("tenant",)
    list_filter = (TenantFilter,)
    ordering: ClassVar = ["tenant", "queue"]

    @admin.display(description="readiness")
    def holds(self, lane: Lane) -> str:
        return lane.get_readiness_display().replace("_", " ")

    @admin.display(description="virtual time")
    def turn(self, lane: Lane) -> str:
        """The lane that has the least is served next."""
        return f"{lane.virtual_time:,.1f}"
