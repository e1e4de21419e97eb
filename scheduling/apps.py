"""The Django application of the scheduler."""

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    name = "scheduling"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from scheduling import (  # noqa: F401  (checks register on import)
            checks,
            forked,
            project_checks,
            results,
        )
        from scheduling.declaring import registry

        forked.watch()
        if project_checks.ledger_takes_tasks():
            registry.discover()
        results.without_the_framework()
