"""``manage.py serve``: the web server and the workers, for as long as both live."""

import socket
import subprocess  # nosec B404  # our own programs
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.children import run_together

MANAGE = [sys.executable, "manage.py"]
WEB = [sys.executable, "-m", "gunicorn", "-c", "python:config.gunicorn", "config.wsgi"]
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
    requires_system_checks = []  # `bootstrap` makes them all, first

    def handle(self, *args: Any, **options: Any) -> None:
        # Before anything is set up or told: gunicorn would find out last.
        require_free(settings.BIND, settings.PORT)

        # In a process of its own: this one keeps free of connections and threads, for it forks.
        bootstrap = [*MANAGE, "bootstrap", "-v0"]
        setup = subprocess.run(bootstrap, cwd=settings.BASE_DIR, check=False)  # nosec B603  # no shell
        if setup.returncode:
            reason = "Setting up failed, for the reason above. Nothing was started."
            raise CommandError(reason, returncode=setup.returncode)

        url = f"http://{settings.BIND}:{settings.PORT}"
        self.stdout.write((ADDRESSES + DEVELOPMENT * settings.DEBUG).format(url=url))
        self.stdout.flush()

        endings = run_together(
            {"web": WEB, "workers": [*MANAGE, "runworkers"]}, cwd=settings.BASE_DIR
        )
        if endings:
            raise CommandError(f"{'; '.join(map(str, endings))}. The rest was stopped.")


def require_free(host: str, port: int) -> None:
    """That a web server can listen there. Raises CommandError with what stands in the way, and what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does
        try:
            probe.bind((host.strip("[]"), port))
        except (OSError, OverflowError) as error:
            raise CommandError(
                f"Cannot serve on port {port} of {host}: {error.args[-1]}. Name another one in PORT, or stop the program"
                " that has it. Nothing was started.",
                returncode=2,
            ) from error
