"""Owns `/metrics`: what the ledger tells of itself, in the text format of Prometheus.

Nothing is counted in this process: every figure is read from the ledger, so it is the same whichever of the
web processes answers, and on whichever host.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import clock
from scheduling.api.metrics.collector import Collector
from scheduling.api.metrics.names import Names
from scheduling.api.v1.base import Json, JsonView
from scheduling.conf import conf
from scheduling.ledger.survey import survey
from tenants.authentication import Caller, TokenAuthentication
from tenants.models import Scope
from tenants.permissions import HasScope, WrongTenant


class Exposition(Json):
    """Figures as they are; problems as everywhere."""

    media_type = "text/plain"
    format = "prometheus"

    def render(self, data: Any, *args: Any, **kwargs: Any) -> bytes:
        return data if isinstance(data, bytes) else super().render(data, *args, **kwargs)


class MetricsView(JsonView):
    """For the operator's tokens that may read; with `METRICS_OPEN`, for anybody."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ}
    renderer_classes = (Exposition,)

    def get_authenticators(self) -> list[BaseAuthentication]:
        return [] if conf().METRICS_OPEN else [TokenAuthentication()]

    def get_permissions(self) -> list[BasePermission]:
        return [] if conf().METRICS_OPEN else [HasScope()]

    def get(self, request: Request) -> Response:
        caller: object = request.user
        if isinstance(caller, Caller) and not caller.is_operator:
            raise WrongTenant
        began_at = clock.monotonic()
        found = survey()
        names = Names(
            found,
            most_tenants=conf().METRICS_MAX_TENANTS,
            most_queues=conf().METRICS_MAX_QUEUES,
        )
        registry = CollectorRegistry(auto_describe=False)
        registry.register(Collector(found, names, seconds=clock.monotonic() - began_at))
        return Response(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)
