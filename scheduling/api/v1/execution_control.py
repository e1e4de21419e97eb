"""`/v1/execution-control`: the kill switch."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import ledger
from scheduling.api.v1.base import ApiView
from scheduling.api.v1.representation import instant
from scheduling.api.v1.serializers import Covering, Switch, parsed
from scheduling.api.v1.tenancy import tenant_meant
from scheduling.errors import InvalidTask
from scheduling.ledger import Receipt
from scheduling.models import Pause
from tenants.authentication import Caller
from tenants.models import Scope


class ExecutionControlView(ApiView):
    """What may start: a tenant's token decides for its own tasks, an operator's for all or those it names."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ, "PUT": Scope.CONTROL}
    queried = ("GET", "PUT")

    def get(self, request: Request) -> Response:
        covered = self.covered(parsed(Covering, self.query()))
        return Response(shown(ledger.control(**covered), self.caller))

    def put(self, request: Request) -> Response:
        asked = parsed(Switch, agreed(self.json_object(), self.query()))
        covered, seconds = self.covered(asked), asked.get("for_seconds")
        whose: dict[str, Any] = {"by": str(self.caller), "by_tenant": not self.caller.is_operator}
        reason, verb = asked["reason"], "pause" if asked["paused"] else "resume"
        with transaction.atomic():
            if asked["paused"]:
                duration = timedelta(seconds=seconds) if seconds else None
                receipt = ledger.pause(**covered, **whose, reason=reason, duration=duration)
            else:
                receipt = ledger.resume(**covered, **whose)
            if receipt.changed:
                what = Pause(**covered).covers
                self.record(verb, what, tenant=covered["tenant"], reason=reason, done=1)
        return Response(shown(receipt, self.caller))

    def covered(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the switch is thrown for, as the ledger's verbs take it."""
        tenant = tenant_meant(self.caller, asked.get("tenant"))
        return {"tenant": tenant, "queue": asked.get("queue", ""), "name": asked.get("name", "")}


def agreed(body: Mapping[str, Any], query: Mapping[str, str]) -> dict[str, Any]:
    """Body and query together: a scope that was put in the query must not be taken for "everything"."""
    contrary = {name for name in body.keys() & query.keys() if body[name] != query[name]}
    if contrary:
        raise InvalidTask(
            dict.fromkeys(contrary, "is one thing in the body and another in the query")
        )
    return {**query, **body}


def shown(receipt: Receipt, caller: Caller) -> dict[str, Any]:
    """A tenant under a pause of the operator's learns why, but neither by whom nor what others are doing."""
    is_own = caller.is_operator or f"tenant={caller.tenant}" in receipt.scope.split()
    stands = receipt.paused or receipt.by
    return {
        "paused": receipt.paused,
        "scope": receipt.scope,
        "reason": receipt.reason,
        "by": (receipt.by or None) if is_own else "operator",
        "since": instant(receipt.since) if stands else None,
        "expires_at": instant(receipt.expires_at),
        "in_flight": receipt.in_flight if is_own else None,
    }
