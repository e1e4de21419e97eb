"""Somebody else's Django project, in a folder of its own, with habits of its own: what the wheel is tried in.

It has users who are no `auth.User`, an admin with templates, an API with other classes, another language and time zone, and
a second database. What makes it a project with a ledger is taken from the page that says so.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.pages import DOCS

PAGE = (DOCS / "how-to" / "install-into-a-project.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^python manage\.py (.+)$", PAGE, re.MULTILINE)

STAND_ALONE = {"environ", "gunicorn", "whitenoise"}
"""What the stand-alone project needs, and the wheel does not."""
ABSENT = "absent"

HABITS = """
INSTALLED_APPS += ["people", "orders"]
AUTH_USER_MODEL = "people.Person"
LANGUAGE_CODE, TIME_ZONE = "de", "Europe/Berlin"
ALLOWED_HOSTS = ["testserver"]
TEMPLATES[0]["DIRS"] = [BASE_DIR / "templates"]
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.BrowsableAPIRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.FormParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.AcceptHeaderVersioning",
    "ALLOWED_VERSIONS": ["theirs"],
    "DEFAULT_THROTTLE_CLASSES": ["rest_framework.throttling.AnonRateThrottle"],
    "DEFAULT_THROTTLE_RATES": {"anon": "1/day"},
    "EXCEPTION_HANDLER": "nowhere.handler",
    "NON_FIELD_ERRORS_KEY": "theirs",
}
"""
ARCHIVE = """
DATABASES["archive"] = {"ENGINE": "django.db.backends.sqlite3", "NAME": BASE_DIR / "archive.db"}
"""
PEOPLE = """
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models

class Person(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(unique=True)
    is_staff = models.BooleanField(default=True)
    is_active = models.BooleanField(default=True)
    objects = BaseUserManager()
    USERNAME_FIELD = "email"
"""
ORDERS = """
from django.db import models

class Order(models.Model):
    number = models.IntegerField()
"""
ORDERS_ADMIN = """
from django.contrib import admin
from orders.models import Order

admin.site.register(Order)
"""
BASE_SITE = '{% extends "admin/base.html" %}{% block branding %}The shop{% endblock %}'
WRONG = """
from shop.settings import *

del TASKS
USE_TZ = False
RENTROLL = {"RETENTON": 7}
DATABASES["default"] = {"ENGINE": "django.db.backends.sqlite3", "NAME": BASE_DIR / "theirs.db"}
"""


@dataclass(frozen=True)
class Project:
    """A project in its folder, and the folder that the wheel was installed into."""

    folder: Path
    installed: Path
    environment: Mapping[str, str]

    @property
    def is_on_postgres(self) -> bool:
        return "PGHOST" in self.environment

    def write(self) -> None:
        for name in STAND_ALONE if self.is_on_postgres else {*STAND_ALONE, "psycopg"}:
            self._append(
                f"{ABSENT}/{name}.py", f"raise ModuleNotFoundError({name!r}, name={name!r})"
            )
        self.run("-m", "django", "startproject", "shop", ".")
        settings, logging, sqlite, postgres, urls, tasks, _ = SNIPPETS
        database = postgres if self.is_on_postgres else sqlite
        self._append("shop/settings.py", HABITS, settings, logging, database, ARCHIVE)
        self._append("shop/urls.py", urls)
        self._append("shop/wrong.py", WRONG)
        self._append("people/__init__.py", "")
        self._append("people/models.py", PEOPLE)
        self._append("orders/__init__.py", "")
        self._append("orders/models.py", ORDERS)
        self._append("orders/admin.py", ORDERS_ADMIN)
        self._append("orders/tasks.py", tasks)
        self._append("templates/admin/base_site.html", BASE_SITE)
        self.manage("makemigrations", "people", "orders")

    def manage(self, *command: str) -> str:
        """What `manage.py` says to stdout. Its failure fails the test, with all that it said."""
        return self.run("manage.py", *command)

    def run(self, *program: str) -> str:
        done = self.start(*program, stderr=subprocess.PIPE)
        out, err = done.communicate(timeout=60)
        assert done.returncode == 0, out + err
        return out

    def start(self, *program: str, **popen: Any) -> subprocess.Popen[str]:
        """With nothing of this checkout in sight, and without packages that the wheel does not bring."""
        return subprocess.Popen(
            [sys.executable, *program],
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": f"{self.folder / ABSENT}:{self.installed}:{self.folder}",
                "DJANGO_SETTINGS_MODULE": "shop.settings",
                **self.environment,
            },
            stdout=subprocess.PIPE,
            text=True,
            **popen,
        )

    def _append(self, name: str, *texts: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(texts)
