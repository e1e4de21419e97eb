"""The project's settings with the harness's own tasks: for every process of a run."""

from config.settings import *  # noqa: F403  # a settings module is a namespace
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.chaos"]
