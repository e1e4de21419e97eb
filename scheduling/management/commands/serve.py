"""``manage.py serve``: the web server and the workers, for as long as both live."""

import sys
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from scheduling.management import children

ADDRESSES = """
Rentroll serves on {url}
  API      {url}/v1/        (ready? {url}/readyz)
  console  {url}/admin/
"""
DEVELOPMENT = """\
  tokens   token-tenant-a, token-tenant-b, token-operator

  curl {url}/v1/tasks -H 'Authorization: Bearer token-tenant-a' \\
       -H 'Content-Type: application/json' \\
       -d '{{"name": "demo.echo", "payload": {{"message": "hello"}}}}'
"""


class Command(BaseCommand):
    help = "Set up what is missing, then serve the API and the console and run workers."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("bootstrap", verbosity=0, stdout=self.stdout)
        connections.close_all()
        url = f"http://{settings.BIND}:{settings.PORT}"
        self.stdout.write((ADDRESSES + DEVELOPMENT * settings.DEBUG).format(url=url))
        self.stdout.flush()

        manage = str(settings.BASE_DIR / "manage.py")
        endings = children.run_together(
            {
                "web": [
                    sys.executable,
                    "-m",
                    "gunicorn",
                    "-c",
                    "python:config.gunicorn",
                    "config.wsgi",
                ],
                "workers": [sys.executable, manage, "runworkers"],
            }
        )
        if endings:
            raise CommandError("; ".join(map(str, endings)) + "; stopped the rest.")
