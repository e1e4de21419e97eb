"""The project's settings, with the benchmarks' own tasks, model and views beside it."""

from config.settings import *  # noqa: F403  # a settings module is a namespace
from config.settings import INSTALLED_APPS, RENTROLL

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks"]
ROOT_URLCONF = "benchmarks.urls"
RENTROLL = RENTROLL | {"DEFAULT_TENANT": "tenant-0"}
