"""Who owns tasks, how much of the system they may use, and the tokens they call with."""

import hashlib
import hmac
import logging
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from math import isnan
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import DatabaseError, connections, models
from django.db.models import F, Q

from scheduling import clock
from scheduling.conf import MOST_PER_SECOND, conf
from tenants.first_read import converted, rows
from tenants.sign_in import SignInTries

__all__ = [
    "ApiToken",
    "ApiTokenQuerySet",
    "Scope",
    "SignInTries",
    "Tenant",
    "digest_of",
    "prefix_of",
]

USE_NOTED_EVERY = timedelta(minutes=1)
TOLD_EVERY = 10.0
"""Seconds between two lines about uses that could not be noted."""
_tell_unnoted_at = 0.0

logger = logging.getLogger(__name__)


def default_max_queued() -> int | None:
    return conf().TENANT_MAX_QUEUED or None


def default_max_in_flight() -> int | None:
    return conf().TENANT_MAX_IN_FLIGHT or None


def default_rate_per_second() -> float | None:
    return conf().TENANT_RATE_PER_SECOND or None


def default_rate_burst() -> int:
    return int(conf().TENANT_RATE_BURST)


def is_a_number(value: float) -> None:
    """NaN is beyond no bound, so no bound refuses it."""
    if isnan(value):
        raise ValidationError("Enter a number.", code="nan")


class Tenant(models.Model):
    """A customer that owns tasks: the unit of isolation, fairness and limits. An empty limit means none."""

    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=200, blank=True)
    weight = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="Its share of dispatch beside the other waiting tenants.",
    )
    max_in_flight = models.PositiveIntegerField(
        null=True,
        blank=True,
        default=default_max_in_flight,
        validators=[MinValueValidator(1)],
        help_text="Tasks running at once, never exceeded. Empty: as many as there are slots.",
    )
    max_queued = models.PositiveIntegerField(
        null=True,
        blank=True,
        default=default_max_queued,
        validators=[MinValueValidator(1)],
        help_text="Tasks accepted and not finished yet. Empty: no limit.",
    )
    rate_per_second = models.FloatField(
        null=True,
        blank=True,
        default=default_rate_per_second,
        validators=[is_a_number, MinValueValidator(0.001), MaxValueValidator(MOST_PER_SECOND)],
        help_text="Tasks accepted per second in the long run. Empty: no limit.",
    )
    rate_burst = models.PositiveIntegerField(
        default=default_rate_burst,
        validators=[MinValueValidator(1)],
        help_text="Tasks accepted at once after a quiet time, before the rate applies.",
    )
    retention = models.DurationField(
        null=True,
        blank=True,
        help_text="How long finished tasks are kept. Empty: as long as the installation keeps them.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["slug"]
        constraints: ClassVar = [
            models.CheckConstraint(name="tenant_weight", condition=Q(weight__gte=1)),
            models.CheckConstraint(
                name="tenant_max_in_flight",
                condition=Q(max_in_flight__isnull=True) | Q(max_in_flight__gte=1),
            ),
            models.CheckConstraint(
                name="tenant_rate",
                condition=(
                    Q(rate_per_second__isnull=True)
                    | Q(rate_per_second__gt=0, rate_per_second__lte=MOST_PER_SECOND)
                )
                & Q(rate_burst__gte=1),
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def keeps_history_for(self) -> timedelta:
        """How long its finished tasks are kept: its own retention, or the installation's."""
        return conf().RETENTION if self.retention is None else self.retention


class Scope(models.TextChoices):
    """What a token may be used for."""

    ENQUEUE = "enqueue", "enqueue and cancel tasks; create, run and backfill recurring ones"
    READ = "read", "read tasks and limits"
    WORK = "work", "claim, renew and settle"
    CONTROL = "control", "pause, resume, redrive and discard; edit and delete recurring tasks"


TOKENS_WITH_PREFIX = """
    SELECT {columns}, tenant.slug
    FROM tenants_apitoken AS token LEFT JOIN tenants_tenant AS tenant ON tenant.id = token.tenant_id
    WHERE token.prefix = %s
"""


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def with_secret(self, secret: str) -> "ApiToken | None":
        """The token that opens with that secret, usable or not. Found by prefix, told by its digest.

        Part of every request, so its statement is written by hand, and its rows are read without a query set:
        that would take the ORM several times as long as the database takes to answer.
        """
        connection = connections[self.db]
        fields = self.model._meta.concrete_fields
        for *values, slug in rows(connection, _tokens_with_prefix(), [prefix_of(secret)]):
            token = self.model.from_db(
                self.db,
                [field.attname for field in fields],
                [converted(*pair, connection) for pair in zip(values, fields, strict=True)],
            )
            if token.matches(secret):
                if token.tenant_id is not None:
                    token.tenant = Tenant.from_db(self.db, ["id", "slug"], [token.tenant_id, slug])
                return token
        return None

    def revoke(self, now: datetime) -> int:
        """Shut every one of them, for good; returns how many were still open."""
        return self.filter(revoked_at__isnull=True).update(revoked_at=now)

    def issue(
        self,
        *,
        tenant: Tenant | None,
        name: str = "",
        scopes: Iterable[str] = Scope.values,
        expires_at: datetime | None = None,
        secret: str | None = None,
    ) -> tuple["ApiToken", str]:
        """Store a new token and return it with its secret, which is shown this once and kept nowhere.

        `tenant=None` makes an operator's token. `secret` is for development tokens of a known value.
        """
        secret = secret or f"rr_{secrets.token_urlsafe(32)}"
        token = self.create(
            tenant=tenant,
            name=name,
            prefix=prefix_of(secret),
            digest=digest_of(secret),
            scopes=sorted(set(scopes)),
            expires_at=expires_at,
        )
        return token, secret


class ApiToken(models.Model):
    """A bearer token of one tenant, or of the operator. Only a digest of its secret is stored."""

    tenant = models.ForeignKey(
        Tenant, null=True, blank=True, on_delete=models.CASCADE, related_name="tokens"
    )
    name = models.CharField(max_length=100, blank=True)
    prefix = models.CharField(max_length=20, db_index=True, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = [F("tenant").asc(nulls_first=True), "-created_at"]

    def __str__(self) -> str:
        return f"{self.prefix}… of {self.owner}"

    @property
    def owner(self) -> str:
        return self.tenant.slug if self.tenant else "operator"

    def matches(self, secret: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(self.digest, digest_of(secret))

    def note_use(self, now: datetime) -> None:
        """Remember when it was last used: to the minute, because a write per request would cost more.

        A database that cannot take the note loses the note, not the request.
        """
        if self.last_used_at and abs(now - self.last_used_at) < USE_NOTED_EVERY:
            return
        unnoted = Q(last_used_at=self.last_used_at)  # of many requests at once, one writes
        try:
            ApiToken.objects.filter(unnoted, pk=self.pk).update(last_used_at=now)
        except DatabaseError as error:
            _tell_unnoted(self.prefix, error)


@cache
def _tokens_with_prefix() -> str:
    columns = (f"token.{field.column}" for field in ApiToken._meta.concrete_fields)
    return TOKENS_WITH_PREFIX.format(columns=", ".join(columns))


def _tell_unnoted(prefix: str, cause: Exception) -> None:
    """Now and then: every request may run into it, for as long as the ledger takes no writes."""
    global _tell_unnoted_at
    if clock.monotonic() >= _tell_unnoted_at:
        _tell_unnoted_at = clock.monotonic() + TOLD_EVERY
        logger.warning("The use of token %s could not be noted.", prefix, exc_info=cause)


def digest_of(secret: str) -> str:
    """SHA-256, in hex. A plain hash is enough: secrets are random, 256 bits, never chosen by people."""
    return hashlib.sha256(secret.encode()).hexdigest()


def prefix_of(secret: str) -> str:
    """What may be shown and looked up: enough to tell tokens apart, too little to use one."""
    return digest_of(secret)[:12]
