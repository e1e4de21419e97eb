"""Owns how often somebody may try to sign in to the console.

Counted in the database, so by all web processes together, and before a password is looked at. An allowance
refills steadily (the generic cell rate algorithm, as for enqueueing), so nobody waits for longer than one
refill, and nothing has to be unlocked by hand.

A browser that signed in to an account before has an allowance of its own there, and is let alone by what
strangers try; these share one for the account and one for their address (OWASP's "device cookies").
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models, transaction

FORGOTTEN_AFTER = timedelta(hours=1)
"""Once an allowance is full again; its row is of no more use."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """So many tries at once, and one more whenever a refill has passed."""

    kind: str
    whose: str
    tries: int
    refill: timedelta

    @property
    def digest(self) -> str:
        """Not the name itself: people type passwords where their names belong."""
        return hashlib.sha256(f"{self.kind}:{self.whose}".encode()).hexdigest()

    def wait(self, full_at: datetime, now: datetime) -> timedelta:
        """Until the next try is allowed; zero or less: now."""
        return max(full_at, now) + self.refill - self.tries * self.refill - now


def of_browser(username: str, browser: str) -> list[Allowance]:
    """For a browser that is known to belong to the account."""
    return [Allowance("browser", f"{username}:{browser}", 10, timedelta(minutes=1))]


def of_stranger(username: str, address: str) -> list[Allowance]:
    """A whole office may share the address; so it is given more than an account."""
    return [
        Allowance("account", username, 5, timedelta(minutes=3)),
        Allowance("address", address, 50, timedelta(seconds=30)),
    ]


class SignInTries(models.Model):
    """How much of an allowance is spent: `full_at` is when nothing of it will be."""

    digest = models.CharField(max_length=64, primary_key=True)
    full_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions: ClassVar = ()

    def __str__(self) -> str:
        return self.digest


def spend(allowances: Iterable[Allowance], now: datetime) -> timedelta | None:
    """Take a try from each of them; or from none, and return how long to wait."""
    known = {allowance.digest: allowance for allowance in allowances}
    with transaction.atomic():
        rows = _locked(known, now)
        longest = max(known[row.digest].wait(row.full_at, now) for row in rows)
        if longest > timedelta():
            return longest
        for row in rows:
            row.full_at = max(row.full_at, now) + known[row.digest].refill
            row.save(update_fields=["full_at"])
    return None


def give_back(allowances: Iterable[Allowance], now: datetime) -> None:
    """The try was a good one, and costs nothing."""
    known = {allowance.digest: allowance for allowance in allowances}
    with transaction.atomic():
        for row in _locked(known, now):
            row.full_at -= known[row.digest].refill
            row.save(update_fields=["full_at"])


def _locked(digests: Iterable[str], now: datetime) -> list[SignInTries]:
    """Their rows, made where there are none, until the transaction ends; always locked in one order."""
    SignInTries.objects.filter(full_at__lt=now - FORGOTTEN_AFTER).delete()
    fresh = [SignInTries(digest=digest, full_at=now) for digest in sorted(digests)]
    SignInTries.objects.bulk_create(fresh, ignore_conflicts=True)
    locked = SignInTries.objects.select_for_update().filter(
        digest__in=[row.digest for row in fresh]
    )
    return list(locked.order_by("digest"))
