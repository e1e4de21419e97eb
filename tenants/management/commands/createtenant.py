"""`manage.py createtenant`: a new owner of tasks."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from tenants.management.plain import TellingCommand, Wrong
from tenants.models import Tenant

LIMITS = ("weight", "max_in_flight", "max_queued", "rate_per_second", "rate_burst")


class Command(TellingCommand):
    help = "Create a tenant. Limits that are not given are those of the settings."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="what it is called in the API and in figures")
        parser.add_argument("--name", default="", help="what people call it")
        parser.add_argument("--weight", type=int, help="its share of dispatch beside the others")
        parser.add_argument("--max-in-flight", type=int, help="tasks running at once")
        parser.add_argument("--max-queued", type=int, help="tasks accepted and not finished yet")
        parser.add_argument(
            "--rate", type=float, dest="rate_per_second", help="tasks accepted per second"
        )
        parser.add_argument(
            "--burst", type=int, dest="rate_burst", help="tasks accepted at once after a quiet time"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        given = {limit: options[limit] for limit in LIMITS if options[limit] is not None}
        tenant = Tenant(slug=options["slug"], name=options["name"], **given)
        try:
            tenant.full_clean()
        except ValidationError as error:
            raise Wrong(in_one_line(error)) from error
        tenant.save()
        if options["json"]:
            fields = ("slug", "name", *LIMITS)
            self.tell_as_json({field: getattr(tenant, field) for field in fields})
        else:
            self.stdout.write(f"Tenant {tenant.slug} is created.")


def in_one_line(error: ValidationError) -> str:
    """What is wrong with which option."""
    faults = error.message_dict.items()
    return " ".join(f"{option}: {' '.join(messages)}" for option, messages in faults)
