"""``manage.py bootstrap``: make an installation ready to serve."""

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from config import setup
from scheduling.management.alone import alone


class Command(BaseCommand):
    help = (
        "Bring tables and static files up to date and, with DEBUG on and no tenant yet, create"
        " tenants, tokens and an admin user to develop with. Safe to run any number of times, also"
        " at once."
    )

    requires_system_checks = []  # `migrate` makes them all, and those of the database, first

    def handle(self, *args: Any, **options: Any) -> None:
        verbosity = options["verbosity"]
        call_command("migrate", interactive=False, verbosity=verbosity, skip_checks=False)
        with alone():
            password = None
            if settings.DEBUG:  # static files are served from where they lie
                password = setup.create_development_tenants()
            else:
                call_command("collectstatic", interactive=False, verbosity=verbosity)
        if password:
            self.stdout.write(f"Admin user: admin, password {password} (shown this once)")
