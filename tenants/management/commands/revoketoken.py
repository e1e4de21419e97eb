"""`manage.py revoketoken`: shut a way in."""

from typing import Any

from django.core.management.base import CommandParser

from scheduling import clock
from tenants.management.plain import TellingCommand, Wrong
from tenants.models import ApiToken


class Command(TellingCommand):
    help = "Revoke a token: it opens nothing from the next request on."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("prefix", help="the token's, as lists and logs show it")

    def handle(self, *args: Any, **options: Any) -> None:
        tokens = ApiToken.objects.filter(prefix=options["prefix"])
        token = tokens.first()
        if token is None:
            raise Wrong(f"There is no token {options['prefix']!r}.")
        was_open = tokens.revoke(clock.now()) > 0
        token.refresh_from_db()
        if options["json"]:
            self.tell_as_json(
                {
                    "prefix": token.prefix,
                    "tenant": token.tenant.slug if token.tenant else None,
                    "revoked_at": token.revoked_at,
                    "was_open": was_open,
                }
            )
        elif was_open:
            self.stdout.write(f"Token {token} is revoked.")
        else:
            self.stdout.write(f"Token {token} was revoked before, at {token.revoked_at:%F %R} UTC.")
