"""The web server on a core of its own, and what it needs to be asked something."""

from typing import NoReturn

from django.core.management import call_command
from django.db import connection

from benchmarks.cores import SERVER, stay_on
from benchmarks.models import Entry
from benchmarks.peers.command import become
from benchmarks.peers.ours import create_tenant, slug
from tenants.models import ApiToken


def prepare() -> str:
    """Tables, and a tenant; its token."""
    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        editor.create_model(Entry)
    _, secret = ApiToken.objects.issue(tenant=create_tenant(slug(0)))
    return secret


def work() -> NoReturn:
    """gunicorn as the project configures it."""
    stay_on(SERVER)
    become("-m", "gunicorn", "-c", "python:config.gunicorn", "config.wsgi")
