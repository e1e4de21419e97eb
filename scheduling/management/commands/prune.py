"""`manage.py prune`: forget what is over."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from scheduling import audit, clock, ledger, sweeps
from scheduling.conf import conf
from scheduling.counts import counted
from tenants.management.plain import TellingCommand, duration
from tenants.models import Tenant

TELL_EVERY = 1.0
"""Seconds between two lines about one tenant."""


class Command(TellingCommand):
    help = (
        "Delete tasks that succeeded or were cancelled, with their history, in small transactions that "
        "disturb nobody. A tenant's own retention counts before --older-than. Dead letters stay; what "
        "operators did is kept for a year."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--older-than",
            type=duration,
            default=conf().RETENTION,
            metavar="30d",
            help="how long ago they ended; default: RETENTION, which is told to clients, or 30d",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        keep, tells = options["older_than"], options["verbosity"] > 0 and not options["json"]
        pruned = {}
        for tenant in Tenant.objects.all():
            pruned[tenant.slug] = 0
            for count in now_and_then(running_totals(tenant, keep)):
                pruned[tenant.slug] = count
                if tells:
                    self.stdout.write(f"{tenant}: {counted(count, 'task')} pruned")
            while ledger.prune_ticks(tenant, keep=keep):
                pass
        before = clock.now() - keep
        while ledger.prune_throughput(before=before):
            pass
        while audit.prune():
            pass
        sweeps.prune(before=before)
        if options["json"]:
            self.tell_as_json({"pruned": pruned})


def now_and_then(totals: Iterator[int]) -> Iterator[int]:
    """One each second, and the last."""
    total, told, told_at = 0, 0, clock.monotonic()
    for total in totals:
        if clock.monotonic() - told_at >= TELL_EVERY:
            told, told_at = total, clock.monotonic()
            yield total
    if total != told:
        yield total


def running_totals(tenant: Tenant, keep: timedelta) -> Iterator[int]:
    """Prune chunk by chunk; how many are gone so far, after each chunk that found some."""
    total, after = 0, None
    while True:
        chunk = ledger.prune(tenant, keep=keep, after=after)
        total, after = total + chunk.pruned, chunk.after
        if chunk.pruned:
            yield total
        if after is None:
            return
