"""`manage.py issuetoken`: a new way in."""

from typing import Any

from django.core.management.base import CommandParser

from scheduling import clock
from tenants.management.plain import TellingCommand, duration, scopes, tenant_called
from tenants.models import ApiToken, Scope


class Command(TellingCommand):
    help = "Issue a token to a tenant, or to the operator. Its secret goes to stdout, this once."

    def add_arguments(self, parser: CommandParser) -> None:
        owner = parser.add_mutually_exclusive_group(required=True)
        owner.add_argument("slug", nargs="?", help="the tenant that it acts for")
        owner.add_argument("--operator", action="store_true", help="it acts for every tenant")
        parser.add_argument("--name", default="", help="what it is for")
        parser.add_argument(
            "--scopes",
            type=scopes,
            default=Scope.values,
            metavar=",".join(Scope.values),
            help="what it may be used for; default: everything",
        )
        parser.add_argument(
            "--expires", type=duration, metavar="30d", help="how long it opens anything"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        lifetime = options["expires"]
        token, secret = ApiToken.objects.issue(
            tenant=None if options["operator"] else tenant_called(options["slug"]),
            name=options["name"],
            scopes=options["scopes"],
            expires_at=clock.now() + lifetime if lifetime else None,
        )
        if options["json"]:
            self.tell_as_json({"secret": secret, **described(token)})
            return
        until = f", until {token.expires_at:%F %R} UTC" if token.expires_at else ""
        self.stderr.write(f"Token {token}: {', '.join(token.scopes)}{until}. Its secret:", str)
        self.stdout.write(secret)


def described(token: ApiToken) -> dict[str, Any]:
    """What may be shown of it."""
    return {
        "prefix": token.prefix,
        "tenant": token.tenant.slug if token.tenant else None,
        "name": token.name,
        "scopes": token.scopes,
        "expires_at": token.expires_at,
    }
