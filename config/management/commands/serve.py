"""``manage.py serve``: the web server and the workers, for as long as both live."""

import errno
import socket
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config import web_server  # noqa: F401  # refuses, before anything is done, what it cannot read
from config.children import run_together

MANAGE = [sys.executable, "manage.py"]
WEB = [sys.executable, "-m", "gunicorn", "-c", "python:config.gunicorn", "config.wsgi"]
BACKLOG = 2048
"""Connections that wait to be taken: as many as gunicorn allows by itself."""
FAULTS_OF_PORTS = (errno.EADDRINUSE, errno.EACCES)
OTHER_PORT = "Name another one in PORT, or stop the program that has it."
ADDRESSES = """
Rentroll serves on {url}
  API      {url}/v1/docs    (ready? {url}/readyz)
  console  {url}/admin/
"""
PRODUCTION = """\
  users    manage.py createsuperuser makes the first
"""
PROXIED = """\
  Whoever does not come by https, as the proxy before it says, is sent there.
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
        # From here on callers wait instead of being refused, and nobody else gets the port.
        listener = listen()

        # In a process of its own: this one keeps free of connections and threads, for it forks.
        setup = run_together({"bootstrap": [*MANAGE, "bootstrap", "-v0"]}, cwd=settings.BASE_DIR)
        if not setup:  # it was asked to stop
            return
        if setup[0].returncode:
            reason = "Setting up failed, for the reason above. Nothing was started."
            raise CommandError(reason, returncode=setup[0].returncode)

        told = (
            ADDRESSES + (DEVELOPMENT if settings.DEBUG else PRODUCTION) + PROXIED * settings.HTTPS
        )
        port = listener.getsockname()[1]
        self.stdout.write(told.format(url=f"http://{settings.HOST}:{port}"))
        self.stdout.flush()

        endings = run_together(
            {
                "web": [*WEB, f"--bind=fd://{listener.fileno()}"],
                "workers": [*MANAGE, "runworkers"],
            },
            cwd=settings.BASE_DIR,
            listeners={"web": listener},
        )
        if endings:
            raise CommandError(f"{'; '.join(map(str, endings))}. The rest was stopped.")


def listen() -> socket.socket:
    """Where a web server is to take connections. Raises CommandError with what stands in the way, and what to do."""
    host, port = settings.BIND, settings.PORT
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        why = str(error.args[-1]).rstrip(".")
        mend = OTHER_PORT if error.errno in FAULTS_OF_PORTS else "Name another one in BIND."
        raise CommandError(
            f"Cannot serve on port {port} of {settings.HOST}: {why}. {mend} Nothing was started.",
            returncode=2,
        ) from error
    return listener
