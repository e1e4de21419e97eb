"""The kill switch: pausing, resuming, and putting back what claims held meanwhile.

A pause is one row, and a claim reads the rows in its own turn. Pausing takes a turn as well: claims under
way have committed before it, later ones see it, so nothing starts once it has returned. Claims set aside
what they meet under a pause, so that a million paused tasks are not walked past again and again; when the
pause is over they are put back, lanes at once and tasks in chunks, in a turn that no claim is holding more in.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from scheduling.ledger import wake
from scheduling.ledger.dialects import dialect
from scheduling.ledger.enqueue import activate
from scheduling.ledger.values import Receipt
from scheduling.models import Lane, Lease, Pause, Schedule, Task
from scheduling.states import Readiness
from tenants.models import Tenant

CHUNK = 1000


def scope_of(tenant: Tenant | None, queue: str, name: str) -> str:
    """`everything`, or `tenant=acme queue=mail name=invoices.send` with what is given."""
    parts = {"tenant": tenant.slug if tenant else "", "queue": queue, "name": name}
    return " ".join(f"{part}={value}" for part, value in parts.items() if value) or "everything"


def pause(
    *,
    tenant: Tenant | None = None,
    queue: str = "",
    name: str = "",
    reason: str = "",
    by: str,
    by_tenant: bool = False,
    duration: timedelta | None = None,
    now: datetime | None = None,
) -> Receipt:
    """Stop new executions of the scope from the instant this commits; the work is kept.

    Pausing what is paused replaces reason, author and expiry, and keeps `since`. What a tenant pauses for
    itself (`by_tenant`) stands beside what an operator pauses, and neither touches the other.
    """
    scope = scope_of(tenant, queue, name)
    with transaction.atomic():
        now = dialect().take_turn(now)
        standing = Pause.objects.in_force(now).filter(scope=scope, by_tenant=by_tenant).first()
        row, _ = Pause.objects.update_or_create(
            scope=scope,
            by_tenant=by_tenant,
            defaults={
                "tenant": tenant,
                "queue": queue,
                "name": name,
                "reason": reason,
                "paused_by": by,
                "since": standing.since if standing else now,
                "expires_at": now + duration if duration else None,
                "lifted_at": None,
            },
        )
        wake.after_commit(wake.PAUSE)
    return replace(_receipt(row), changed=True)


def resume(
    *,
    tenant: Tenant | None = None,
    queue: str = "",
    name: str = "",
    by: str,
    by_tenant: bool = False,
    now: datetime | None = None,
) -> Receipt:
    """Lift the pause of exactly this scope: an operator all there is, a tenant only its own.

    A wider or narrower pause stands, and the receipt tells of what still covers the scope. It is by nobody when
    there was nothing to lift.
    """
    with transaction.atomic():
        now = dialect().take_turn(now)
        standing = Pause.objects.in_force(now).filter(scope=scope_of(tenant, queue, name))
        if by_tenant:
            standing = standing.filter(by_tenant=True)
        lifted = bool(standing.update(lifted_at=now))
        put_back_what_is_over(now, CHUNK)
    receipt = control(tenant=tenant, queue=queue, name=name, now=now)
    if not lifted:
        return receipt
    return replace(receipt, changed=True, by=receipt.by if receipt.paused else by)


def control(
    *, tenant: Tenant | None = None, queue: str = "", name: str = "", now: datetime | None = None
) -> Receipt:
    """What stands for a scope: the widest pause in force that covers all of it, or none."""
    now = now or dialect().now()
    covering = Pause.objects.in_force(now).filter(
        Q(tenant=None) | Q(tenant=tenant), queue__in={"", queue}, name__in={"", name}
    )
    widest = min(
        covering,
        key=lambda row: (bool(row.tenant_id) + bool(row.queue) + bool(row.name), row.since),
        default=None,
    )
    return _receipt(widest) if widest else _not_paused(tenant, queue, name, now)


def put_back_what_is_over(now: datetime, limit: int) -> int:
    """Ready again: the lanes, and up to `limit` tasks, that pauses held which are over. Answers how many tasks.

    A pause goes when it holds nothing any more. What another pause covers as well, a claim sets aside again.
    """
    put_back = 0
    for pk in Pause.objects.over(now).values_list("pk", flat=True):
        with transaction.atomic():
            dialect().take_turn(now)
            over = Pause.objects.over(now).select_related("tenant").filter(pk=pk).first()
            if over:  # nobody paused it anew since, or put everything back
                put_back += _put_back(over, limit)
    return put_back


def _put_back(row: Pause, limit: int) -> int:
    """In its turn, so that what is found to be held is all that is held."""
    db = dialect()
    lanes = Lane.objects.filter(
        **({"tenant": row.tenant} if row.tenant else {}),
        **({"queue": row.queue} if row.queue else {}),
    )
    held = list(lanes.filter(readiness=Readiness.HELD).order_by("pk").values_list("pk", flat=True))
    lanes.filter(pk__in=held).update(readiness=Readiness.NOT_DUE)
    schedules = Schedule.objects.filter(readiness=Readiness.HELD, lane__in=lanes)
    named = schedules.filter(task__name=row.name) if row.name else schedules.none()
    found = named.select_for_update(of=("self",), skip_locked=True).order_by("pk")
    tasks = list(found.values_list("pk", "lane_id")[:limit])
    ready = {*held, *(lane_id for _, lane_id in tasks)}
    db.share_lane_ids(ready)
    ready = db.free_lanes(ready)  # what waits in the others is put back once they are free
    tasks = [(task_id, lane_id) for task_id, lane_id in tasks if lane_id in ready]
    if tasks:
        Schedule.objects.filter(pk__among=[task_id for task_id, _ in tasks]).update(
            readiness=Readiness.READY
        )
    if ready:
        activate(db, ready)
    if not named.exists():  # also none that a cancellation, which may yet roll back, had locked
        row.delete()
    return len(tasks)


def _receipt(row: Pause) -> Receipt:
    return Receipt(
        paused=True,
        scope=row.scope,
        covers=row.covers,
        reason=row.reason,
        by=row.paused_by,
        since=row.since,
        expires_at=row.expires_at,
        in_flight=in_flight(row.tenant, row.queue, row.name),
        changed=False,
    )


def _not_paused(tenant: Tenant | None, queue: str, name: str, now: datetime) -> Receipt:
    return Receipt(
        paused=False,
        scope=scope_of(tenant, queue, name),
        covers=Pause(tenant=tenant, queue=queue, name=name).covers,
        reason="",
        by="",
        since=now,
        expires_at=None,
        in_flight=in_flight(tenant, queue, name),
        changed=False,
    )


def in_flight(tenant: Tenant | None, queue: str, name: str) -> int:
    """Leases that a scope covers."""
    leases = Lease.objects.all()
    if tenant:
        leases = leases.filter(tenant=tenant)
    if queue:
        leases = leases.filter(lane__queue=queue)
    if not name:
        return leases.count()
    # In flight are few; a join may prefer to read all tasks.
    ids = list(leases.order_by().values_list("task", flat=True))
    return Task.objects.filter(pk__among=ids, name=name).count()
