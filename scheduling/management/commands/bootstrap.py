"""``manage.py bootstrap``: make an installation ready to serve."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from scheduling.management import setup


class Command(BaseCommand):
    help = (
        "Bring tables and static files up to date and, with DEBUG on and no tenant yet, create"
        " tenants, tokens and an admin user to develop with. Safe to run any number of times, also"
        " at once."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        setup.update_tables(verbosity=options["verbosity"])
        with setup.alone():
            setup.collect_static_files(verbosity=options["verbosity"])
            password = setup.create_development_tenants() if settings.DEBUG else None
        if password:
            self.stdout.write(f"Admin user: admin, password {password} (shown this once)")
