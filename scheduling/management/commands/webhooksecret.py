"""`manage.py webhooksecret TENANT`: the secret with which a receiver checks that tenant's requests."""

from typing import Any

from django.core.management.base import CommandParser

from scheduling.builtin import signing
from tenants.management.plain import PlainCommand, tenant_called


class Command(PlainCommand):
    help = (
        "Print the secret that signs a tenant's http.request tasks. Whoever has it can forge them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="its slug")

    def handle(self, *args: Any, tenant: str, **options: Any) -> None:
        self.stdout.write(signing.secret_of(tenant_called(tenant).slug))
