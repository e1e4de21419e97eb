"""A ledger to look at: a day of eight tenants, one of which floods the others tonight. Told by the ledger's verbs.

The day comes first, hour by hour, then the last hour by the minute, then how things stand now.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

from scheduling import audit, clock, ledger, payload
from scheduling.audit import Actor, Via
from scheduling.ledger.values import Claim, Fail, Failure, NewTask, Settlement, Succeed, Verdict
from scheduling.ledger.workers import Registration
from scheduling.models import RecurringTask, Task
from tenants.models import ApiToken, Scope, Tenant

MARIA = Actor("maria", Via.CONSOLE)
LEASE = timedelta(seconds=30)
TRACEBACK = """Traceback (most recent call last):
  File "/srv/shop/tasks.py", line 87, in {function}
    response = client.post(url, json=body, timeout=10)
  File "/srv/shop/http.py", line 41, in post
    raise {error}
{error}: {message}
"""


@dataclass(frozen=True, slots=True)
class Customer:
    slug: str
    name: str
    weight: int
    per_minute: int
    fails: float = 0.02
    cap: int = 20
    queued: int = 5_000


CUSTOMERS = (
    Customer("acme", "Acme Corporation", 3, 9),
    Customer("globex", "Globex", 2, 7),
    Customer("hooli", "Hooli", 1, 12, cap=24, queued=2_000),
    Customer("initech", "Initech", 1, 4, fails=0.25),
    Customer("soylent", "Soylent", 1, 3),
    Customer("stark", "Stark Industries", 2, 6),
    Customer("umbrella", "Umbrella", 1, 2),
    Customer("wayne", "Wayne Enterprises", 1, 1),
)
NAMES = {
    "invoices.send": "billing",
    "mail.deliver": "mail",
    "reports.build": "default",
    "images.resize": "default",
    "webhooks.post": "default",
}
RECURRING: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    (
        "acme",
        "nightly-report",
        "reports.build",
        {"cron": "30 2 * * MON-FRI", "timezone": "Europe/Berlin"},
    ),
    ("acme", "invoices", "invoices.send", {"cron": "*/10 * * * *", "timezone": "Europe/Berlin"}),
    ("globex", "month-end", "reports.build", {"cron": "0 0 L * *", "timezone": "Pacific/Chatham"}),
    ("globex", "thumbnails", "images.resize", {"every_seconds": 900, "overlap": "allow"}),
    (
        "initech",
        "partner-sync",
        "webhooks.post",
        {"cron": "*/5 * * * *", "timezone": "America/New_York"},
    ),
    (
        "umbrella",
        "weekly-digest",
        "mail.deliver",
        {"cron": "0 9 * * FRI", "timezone": "America/Sao_Paulo"},
    ),
    (
        "stark",
        "inventory",
        "reports.build",
        {"cron": "0 */2 * * *", "timezone": "Australia/Lord_Howe"},
    ),
)
ERRORS = (
    ("ConnectTimeout", "api.partner.example did not answer within 10 s", "webhooks.post"),
    ("SMTPServerDisconnected", "Connection unexpectedly closed", "mail.deliver"),
    ("MissingVatId", "Customer 40311 has no VAT id", "invoices.send"),
)


class Demo:
    """Its day ends at `now`, and how things stand now is of when it has been told."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.chance = Random(7)
        self.tenants = {one.slug: _tenant(one) for one in CUSTOMERS}
        self.workers = [uuid4() for _ in range(4)]

    def build(self) -> None:
        self._tokens()
        self._recurring()
        for hours in range(23, 1, -1):
            busy = 28 + 40 * (1 - abs(12 - hours) / 12)
            self._round(self.now - timedelta(hours=hours), busy, wait=0.4)
        ledger.prune_throughput(before=self.now - timedelta(hours=1, minutes=59), limit=100_000)
        for minutes in range(59, 0, -1):
            late = max(0.0, 20 - minutes) * 0.7
            self._round(self.now - timedelta(minutes=minutes), 1, wait=0.3 + late)
            if minutes == 12:
                self._redrive()
        self.now = clock.now()  # to tell all that took a while
        self._now()
        self._pause_one()

        Tenant.objects.update(rate_per_second=50, rate_burst=500)

    def _round(self, at: datetime, times: float, wait: float) -> None:
        """Everybody enqueues something, what recurs is fired, and nearly all of it is done shortly after."""
        for customer in CUSTOMERS:
            count = round(self.chance.gauss(customer.per_minute * times, 1.5))
            ledger.enqueue([self._new(customer.slug) for _ in range(count)], now=at)
        while (fired := ledger.fire_due(now=at)).fired or fired.looked_at:
            pass
        for seconds in (wait, 15, 30, 45, 58):
            self._work(at + timedelta(seconds=seconds))

    def _work(self, at: datetime) -> None:
        """Until nothing is ready: what was retried comes again a little later."""
        worker = self.chance.choice(self.workers)
        while claims := self._take(worker, at):
            settled = [Settlement(claim, self._verdict(claim)) for claim in claims]
            ledger.settle(settled, now=at + timedelta(seconds=self.chance.uniform(0.2, 1.5)))

    def _take(self, worker: UUID, now: datetime, limit: int = 50) -> list[Claim]:
        ledger.promote(now=now)
        return list(ledger.claim(worker, limit=limit, lease=LEASE, now=now).claims)

    def _new(self, slug: str, name: str = "", **options: object) -> NewTask:
        name = name or self.chance.choice(list(NAMES))
        given = {"customer": self.chance.randrange(40_000), "locale": "en"}
        return NewTask(
            tenant_id=self.tenants[slug].pk,
            name=name,
            queue=NAMES[name],
            kwargs_json=payload.encode(given),
            **options,  # type: ignore[arg-type]
        )

    def _verdict(self, claim: Claim) -> Verdict:
        customer = next(one for one in CUSTOMERS if self.tenants[one.slug].pk == claim.tenant_id)
        if self.chance.random() > customer.fails:
            return Succeed(payload.encode({"sent": True}))
        known = [error for error in ERRORS if error[2] == claim.name]
        error, message, name = known[0] if known else ERRORS[0]
        function = name.split(".")[1]
        traceback = TRACEBACK.format(function=function, error=error, message=message)
        is_final = error == "MissingVatId"
        failure = Failure(error, message, traceback)
        return Fail(failure, None if is_final else timedelta(seconds=self.chance.uniform(2, 12)))

    def _now(self) -> None:
        """Hooli floods, a pause holds Umbrella back, one worker has fallen silent, and people act."""
        self._workers()
        enqueue = ledger.enqueue
        enqueue([self._new("hooli", "images.resize") for _ in range(40)], now=self._ago(70))
        for worker in self.workers[:3]:
            self._take(worker, self._ago(8), limit=8)
        enqueue([self._new("hooli", "images.resize") for _ in range(1_704)], now=self._ago(64))
        enqueue([self._new("acme") for _ in range(31)], now=self._ago(95))
        enqueue([self._new("globex") for _ in range(12)], now=self._ago(21))
        enqueue([self._new("stark") for _ in range(6)], now=self._ago(4))
        tomorrow = self.now + timedelta(hours=9)
        enqueue([self._new("globex", due_at=tomorrow) for _ in range(400)], now=self._ago(900))
        umbrella = self.tenants["umbrella"]
        reason = "Their mail server refuses us; they are on it."
        ledger.pause(tenant=umbrella, queue="mail", reason=reason, by="maria", now=self._ago(1_500))
        audit.record(
            MARIA,
            "pause",
            "tenant umbrella, queue mail",
            tenant=umbrella,
            reason=reason,
            done=1,
            note="until resumed; 2 tasks in flight.",
            now=self._ago(1_500),
        )
        enqueue([self._new("umbrella", "mail.deliver") for _ in range(212)], now=self._ago(1_200))

    def _workers(self) -> None:
        for number, worker in enumerate(self.workers):
            host = f"worker-{number % 2 + 1}"
            registration = Registration(
                id=worker, host=host, pid=4_100 + number, version="0.1.0", queues=(), slots=8
            )
            ledger.register(registration, now=self._ago(86_400))
            ledger.seen(worker, now=self._ago(3 if number < 3 else 140))

    def _redrive(self) -> None:
        dead = Task.objects.dead().filter(tenant=self.tenants["initech"]).order_by("-pk")[:3]
        picked = [task.pk for task in dead]
        ledger.redrive(picked, now=self._ago(700))
        audit.record(MARIA, "redrive", "3 dead letters", tasks=picked, done=3, now=self._ago(700))

    def _recurring(self) -> None:
        """What everybody has done again and again, since yesterday."""
        for slug, name, task, rule in RECURRING:
            new = ledger.NewRecurring(
                tenant_id=self.tenants[slug].pk,
                name=name,
                task_name=task,
                queue=NAMES[task],
                payload={"kind": name, "locale": "en"},
                **rule,
            )
            ledger.create_recurring(new, now=self.now - timedelta(hours=23, minutes=30))

    def _pause_one(self) -> None:
        digest = RecurringTask.objects.get(name="weekly-digest")
        reason = "Their mail server refuses us; they are on it."
        ledger.pause_recurring(digest.pk, paused=True, reason=reason, now=self._ago(1_500))

    def _tokens(self) -> None:
        for tenant in self.tenants.values():
            ApiToken.objects.issue(tenant=tenant, name="production", scopes=[Scope.ENQUEUE])

    def _ago(self, seconds: float) -> datetime:
        return self.now - timedelta(seconds=seconds)


def _tenant(customer: Customer) -> Tenant:
    return Tenant.objects.create(
        slug=customer.slug,
        name=customer.name,
        weight=customer.weight,
        max_in_flight=customer.cap,
        max_queued=customer.queued,
        rate_per_second=None,  # a day is told in moments, and not always forwards
    )
