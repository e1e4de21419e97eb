"""`/v1/limits` and `/v1/queues`: what a tenant may use, and uses."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import Count, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling.api.v1.base import ApiView
from scheduling.api.v1.pagination import further_on
from scheduling.api.v1.serializers import LimitsFilter, QueuesFilter, parsed
from scheduling.api.v1.tenancy import owner_meant
from scheduling.ledger import allowance, dialects, kill_switch
from scheduling.models import Intake, Lane, Lease, Outflow, Pause, Schedule
from scheduling.states import Readiness
from tenants.models import Scope, Tenant

QUEUES_PER_PAGE = 50
MOST_COUNTED = 10_000
"""Tasks of one queue, so that a deep one costs no more to look at."""


class LimitsView(ApiView):
    """The figures that enqueueing and claiming go by."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ}

    def get(self, request: Request) -> Response:
        asked = parsed(LimitsFilter, self.query())
        tenant = Tenant.objects.get(pk=owner_meant(self.caller, asked.get("tenant")).pk)
        rate = allowance.allowance(tenant.pk)
        return Response(
            {
                "tenant": tenant.slug,
                "weight": tenant.weight,
                "max_queued": tenant.max_queued,
                "unfinished": unfinished(tenant),
                "max_in_flight": tenant.max_in_flight,
                "in_flight": Lease.objects.filter(tenant=tenant).count(),
                "rate_per_second": tenant.rate_per_second,
                "rate_burst": tenant.rate_burst if rate else None,
                "rate_left": rate.left if rate else None,
                "retention_seconds": tenant.keeps_history_for.total_seconds(),
            }
        )


class QueuesView(ApiView):
    """The queues that a tenant has used, by name, and what is in them."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ}

    def get(self, request: Request) -> Response:
        asked = parsed(QueuesFilter, self.query())
        tenant = owner_meant(self.caller, asked.get("tenant"))
        lanes = Lane.objects.filter(tenant=tenant, queue__gt=asked.get("after", ""))
        found = list(lanes.order_by("queue")[: QUEUES_PER_PAGE + 1])
        shown = found[:QUEUES_PER_PAGE]
        following = None
        if len(found) > len(shown):
            following = further_on(request._request, "after", shown[-1].queue)
        return Response({"queues": described(shown, tenant), "next": following})


def unfinished(tenant: Tenant) -> int:
    """As `max_queued` counts: finished is read first, so it can only be too many, not too few."""
    finished = Outflow.objects.filter(pk=tenant.pk).values_list("finished", flat=True)
    done = next(iter(finished), 0)
    accepted = Intake.objects.filter(pk=tenant.pk).values_list("accepted", flat=True)
    return next(iter(accepted), 0) - done


def described(lanes: list[Lane], tenant: Tenant) -> list[dict[str, Any]]:
    in_force = Pause.objects.in_force(dialects.dialect().now())
    switch = kill_switch.KillSwitch(tuple(in_force.values_list("tenant", "queue", "name")))
    leases = Lease.objects.filter(tenant=tenant).order_by().values_list("lane")
    running = dict(leases.annotate(count=Count("pk")))
    return [
        {
            "queue": lane.queue,
            "paused": switch.stops_lane(lane),
            "ready": counted(lane, Readiness.READY),
            "not_due": counted(lane, Readiness.NOT_DUE),
            "held": counted(lane, Readiness.HELD),
            "running": running.get(lane.pk, 0),
        }
        for lane in lanes
    ]


def counted(lane: Lane, readiness: Readiness) -> int:
    schedules: QuerySet[Schedule] = Schedule.objects.filter(lane=lane, readiness=readiness)
    return schedules.order_by()[:MOST_COUNTED].count()
