"""Settings for django-tasks-db: SQLite as well as it can be set up by hand, or PostgreSQL."""

import environ

from benchmarks import props

SECRET_KEY = "nobody signs anything here"  # noqa: S105
USE_TZ = True
DATABASES = {"default": environ.Env.db_url_config(props.address())}
if "sqlite" in DATABASES["default"]["ENGINE"]:
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
INSTALLED_APPS = ["django_tasks_db"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
