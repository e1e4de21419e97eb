"""The Django application of tenants and their tokens."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from tenants import checks  # noqa: F401  (checks register on import)
