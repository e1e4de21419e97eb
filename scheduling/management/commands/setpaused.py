"""`manage.py setpaused`: the kill switch, with no server needed."""

import getpass
import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from scheduling import audit, ledger
from scheduling.ledger import Receipt
from scheduling.models import Pause
from scheduling.options import REASON_LENGTH_MAX, faults
from scheduling.payload import clean_text
from tenants.management.plain import TellingCommand, Wrong, duration, tenant_called, truth

TOLD = ("paused", "scope", "reason", "by", "since", "expires_at", "in_flight")
"""Of a receipt, as JSON."""


class Command(TellingCommand):
    help = (
        "Stop new executions, or let them go on: of everything, or of a tenant, a queue, a name and any "
        "combination. What runs finishes; what waits is kept. Holds from when this command returns."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "paused", type=truth, metavar="true|false", help="stop them, or let them go on"
        )
        parser.add_argument("--tenant", help="only this tenant's tasks")
        parser.add_argument("--queue", default="", help="only tasks in this queue")
        parser.add_argument("--name", default="", help="only tasks of this name")
        parser.add_argument("--reason", default="", help="why, for whoever wonders")
        parser.add_argument(
            "--for", dest="duration", type=duration, metavar="10m", help="ends by itself after that"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        scope = scope_from(options)
        reason, lasting = clean_text(options["reason"], REASON_LENGTH_MAX), options["duration"]
        if lasting and not options["paused"]:
            raise Wrong("--for goes with true: only a pause ends by itself.")
        with transaction.atomic():
            if options["paused"]:
                receipt = ledger.pause(**scope, reason=reason, by=who(), duration=lasting)
            else:
                receipt = ledger.resume(**scope, by=who())
            if receipt.changed:
                audit.record(
                    audit.Actor(who(), audit.Via.COMMAND),
                    "pause" if options["paused"] else "resume",
                    Pause(**scope).covers,
                    tenant=scope["tenant"],
                    reason=reason,
                    done=1,
                )
        if options["json"]:
            self.tell_as_json({member: getattr(receipt, member) for member in TOLD})
        else:
            self.stdout.write(described(receipt))


def scope_from(options: Mapping[str, Any]) -> dict[str, Any]:
    """What is covered, as the ledger's verbs take it."""
    words = {part: options[part] for part in ("queue", "name")}
    if wrong := faults(**{part: word or None for part, word in words.items()}):
        raise Wrong(" ".join(f"--{part} {fault}." for part, fault in wrong.items()))
    slug = options["tenant"]
    return {"tenant": tenant_called(slug) if slug else None, **words}


def who() -> str:
    """The user of the operating system; containers often have none of a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def described(receipt: Receipt) -> str:
    """What, since when, until when, by whom, why, and what still runs."""
    lines = [
        f"{receipt.scope}: {stands(receipt)}",
        f"until: {utc(receipt.expires_at)}" if receipt.expires_at else "",
        f"reason: {receipt.reason}" if receipt.reason else "",
        f"in flight: {receipt.in_flight}" + (", which finish" if receipt.in_flight else ""),
    ]
    return "\n".join(filter(None, lines))


def stands(receipt: Receipt) -> str:
    if not receipt.paused and not receipt.changed:
        return "was not paused"
    verb = "paused" if receipt.paused else "not paused"
    return f"{verb} since {utc(receipt.since)}, by {receipt.by}"


def utc(instant: datetime) -> str:
    return f"{instant:%F %T} UTC"
