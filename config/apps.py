"""The stand-alone project as a Django application: its commands, its checks, and who is let into the console."""

from django.apps import AppConfig


class StandAloneConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401  (checks register on import)
