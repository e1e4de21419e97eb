"""`manage.py webhooksecret TENANT`: the secret with which a receiver checks that tenant's requests."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scheduling.builtin import signing
from tenants.models import Tenant


class Command(BaseCommand):
    help = (
        "Print the secret that signs a tenant's http.request tasks. Whoever has it can forge them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="its slug")

    def handle(self, *args: Any, tenant: str, **options: Any) -> None:
        if not Tenant.objects.filter(slug=tenant).exists():
            raise CommandError(f"There is no tenant {tenant!r}.", returncode=2)
        self.stdout.write(signing.secret_of(tenant))
