"""The project's settings with the tests' own app: for worker processes that run its tasks.

Workers serve no addresses, and have none here: to import all the views, and check them, takes half of their start.
"""

from config.settings import *  # noqa: F403  # a settings module is a namespace
from config.settings import INSTALLED_APPS, MIDDLEWARE

INSTALLED_APPS = [*INSTALLED_APPS, "tests.app"]
MIDDLEWARE = [one for one in MIDDLEWARE if not one.startswith("scheduling.api.")]
ROOT_URLCONF = ""
