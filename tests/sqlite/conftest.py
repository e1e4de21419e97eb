"""The engine is loaded only where the tests run on it."""

from django.conf import settings

if settings.DATABASES["default"]["ENGINE"] != "scheduling.sqlite":
    collect_ignore_glob = ["test_*.py"]
