"""The project's settings with the tests' own app: for worker processes that run its tasks."""

from config.settings import *  # noqa: F403  # a settings module is a namespace
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.app"]
