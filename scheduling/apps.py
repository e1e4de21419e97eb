"""The Django application of the scheduler."""

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    name = "scheduling"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from scheduling import checks, forked, results  # noqa: F401  (checks register on import)
        from scheduling.declaring import registry
        from scheduling.sqlite import pragmas

        pragmas.connect()
        forked.watch()
        registry.discover()
        results.without_the_framework()
