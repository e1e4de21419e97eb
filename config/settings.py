"""Django's settings. What an operator may set comes from the environment, by the names in quotes.

What stands beneath each of those is its entry in docs/reference/settings.md (`make reference`), with what the
web server reads for itself.
"""

from pathlib import Path

import django
import environ
from django.core.exceptions import ImproperlyConfigured

from config import databases, secret_key
from scheduling import durations

BASE_DIR = Path(__file__).resolve().parent.parent
DJANGO_6 = django.VERSION >= (6, 0)

env = environ.Env()

# The installation

DEBUG = env.bool("DEBUG", default=False)
"""A developer's machine: well-known tokens, details in errors. `make run` sets it to `1`."""

DATA_DIR = (BASE_DIR / env.str("DATA_DIR", default="data")).resolve()
"""The folder of the ledger and of static files, relative to that of `manage.py`.

Value: path.
"""
DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)

BIND = env.str("BIND", default="127.0.0.1")
"""The address that the web server listens on.

Value: address.
"""

PORT = env.int("PORT", default=8000)
"""The port that the web server listens on.

Unit: port.
"""

_secret_key = env.str("SECRET_KEY", default="")
"""Signs sessions. Random, 50 characters or more.

Default: required; kept in `DATA_DIR` with `DEBUG=1`.
"""
SECRET_KEY = (
    _secret_key or secret_key.kept_in(DATA_DIR / "secret-key")
    if DEBUG
    else secret_key.checked(_secret_key)
)

ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[BIND, "localhost", "127.0.0.1", "[::1]"])
"""The names that the web server answers to.

Default: `BIND`, and `localhost,127.0.0.1,[::1]`.
"""

CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
"""Origins beside its own that may post to the console."""

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

INSTALLED_APPS = [
    "scheduling",
    "tenants",
    "rest_framework",
    "django_htmx",  # for the file it brings
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "config.headers.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "scheduling.api.tables_guard.TablesGuard",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
if not DJANGO_6:
    INSTALLED_APPS += ["django_tasks"]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# The ledger

_ledger = env.str("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'scheduler.db'}")
"""The ledger: `postgres://user:password@host/name` or `sqlite:///path`.

Value: URL. Default: `scheduler.db` in `DATA_DIR`.
"""

_wait_seconds = env.float("LEDGER_WAIT_SECONDS", default=10)
"""How long workers and commands wait for what others hold in the ledger. For requests there is `WEB_WAIT_SECONDS`.

Unit: seconds.
"""
DATABASES = {"default": databases.ledger_database(_ledger, wait_seconds=_wait_seconds)}

LEDGER_MAX_QUEUED = env.int("LEDGER_MAX_QUEUED", default=10_000_000)
"""Unfinished tasks of all tenants together, beyond which nobody's are accepted. 0 is no limit.

Unit: tasks.
"""

LEDGER_MIN_FREE_MIB = env.int("LEDGER_MIN_FREE_MIB", default=64)
"""What is to be free on the disk of an SQLite ledger. With less, nobody's tasks are accepted.

Unit: MiB.
"""
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TASKS = {"default": {"BACKEND": "scheduling.backend.LedgerBackend", "QUEUES": []}}

_retention = env.str("RETENTION", default="30d")
"""How long finished tasks are kept of tenants that have no retention of their own: what `prune` goes by, and
`/v1/limits` tells.

Value: duration, such as `12h` or `30d`.
"""
try:
    RETENTION = durations.parse(_retention)
except ValueError as error:
    raise ImproperlyConfigured(f"RETENTION: {error}") from error

# Tenants

TENANT_MAX_QUEUED = env.int("TENANT_MAX_QUEUED", default=10_000)
"""Tasks that a new tenant may have waiting and running. 0 is no limit.

Unit: tasks.
"""

TENANT_MAX_IN_FLIGHT = env.int("TENANT_MAX_IN_FLIGHT", default=100)
"""Tasks of a new tenant that run at once. 0 is no limit.

Unit: tasks.
"""

TENANT_RATE_PER_SECOND = env.int("TENANT_RATE_PER_SECOND", default=1_000)
"""Tasks that a new tenant may enqueue each second. 0 is no limit.

Unit: tasks per second.
"""

TENANT_RATE_BURST = env.int("TENANT_RATE_BURST", default=2_000)
"""Tasks that a new tenant may enqueue at once after a silence. 0 is no limit.

Unit: tasks.
"""

TENANT_MAX_RECURRING = env.int("TENANT_MAX_RECURRING", default=10_000)
"""[Recurring tasks](../recurring.md) that one tenant may have, whichever it is. 0 is no limit.

Unit: recurring tasks.
"""

DEFAULT_TENANT = env.str("DEFAULT_TENANT", default="")
"""The tenant that owns what Python code enqueues without naming one.

Value: slug. Default: none, and such code is refused.
"""

# Work elsewhere

REMOTE_QUEUES = env.list("REMOTE_QUEUES", default=[])
"""Queues whose tasks have any name and are run by [remote workers](../remote-workers.md), over the API. No Python
worker claims from them. To be the same for every program."""

WEBHOOK_SECRET = env.str("WEBHOOK_SECRET", default="")
"""What the signatures of [`http.request`](../http-requests.md) are derived from.

Default: `SECRET_KEY`.
"""

HTTP_ALLOW_PRIVATE_ADDRESSES = env.list(
    "HTTP_ALLOW_PRIVATE_ADDRESSES", default=["127.0.0.0/8", "::1/128"] if DEBUG else []
)
"""Networks that `http.request` may reach although they are private, such as `10.1.0.0/16`.

Default: none; this machine with `DEBUG=1`.
"""

# The API and the console

WEB_WAITERS = env.int("WEB_WAITERS", default=600)
"""Requests that may wait at once in each web process, for a task to be over (`?wait=`) or for work. A tenant has no
more of these seats than it leaves free; others are answered at once.

Unit: requests.
"""

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenants.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "EXCEPTION_HANDLER": "scheduling.api.v1.problems.handler",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # the console's forms; the API counts for itself

CONSOLE_REDACT = env.list(
    "CONSOLE_REDACT",
    default=["password", "passwd", "secret", "token", "api_key", "authorization", "cookie"],
)
"""The console shows no value of a payload or a result under a member whose name contains one of these words, at any
depth, whatever its case and with or without `-` and `_`. `*` hides all payloads and results."""

# Metrics

METRICS_OPEN = env.bool("METRICS_OPEN", default=False)
"""Whether anybody who reaches [`/metrics`](../metrics.md) may read it, without a token."""

METRICS_MAX_TENANTS = env.int("METRICS_MAX_TENANTS", default=100)
"""Tenants that metrics tell apart. The rest are `other`.

Unit: tenants.
"""

METRICS_MAX_QUEUES = env.int("METRICS_MAX_QUEUES", default=20)
"""Queues of each tenant that metrics tell apart. The rest are `other`.

Unit: queues.
"""

# Security

# gunicorn reads it as well and tells http from https by it, so Django needs no header setting of its own.
FORWARDED_ALLOW_IPS = env.list("FORWARDED_ALLOW_IPS", default=["127.0.0.1", "::1"])
"""The proxies whose `X-Forwarded-Proto`, and in the console `X-Forwarded-For`, are believed."""

HTTPS = env.bool("HTTPS", default=not DEBUG)
"""Browsers are sent to https and told to stay there, and cookies go nowhere else.

Default: on, unless `DEBUG=1`.
"""
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [
    r"^(healthz|readyz|metrics)$",  # asked for from inside, by plain http
    r"^v1/",  # a redirect comes after the token was sent, and makes a GET of a POST
]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
# Whether the neighbours on this domain speak https is not for us to promise to every browser.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SESSION_ENGINE = "config.sessions"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"

DEFAULT_EXCEPTION_REPORTER = "config.redaction.Reporter"
DEFAULT_EXCEPTION_REPORTER_FILTER = "config.redaction.ReporterFilter"

VALIDATORS = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"{VALIDATORS}.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": f"{VALIDATORS}.CommonPasswordValidator"},
    {"NAME": f"{VALIDATORS}.UserAttributeSimilarityValidator"},
]

# Pages and language

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG  # nothing to collect on a developer's machine
WHITENOISE_AUTOREFRESH = DEBUG

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "config.formats"

# Logs

_log_level = env.str("LOG_LEVEL", default="INFO").upper()
"""The least severity that is logged: `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`."""

LOG_FORMAT = env.str("LOG_FORMAT", default="line")
"""`line` for people, `json` for programs."""
if LOG_FORMAT not in ("line", "json"):
    raise ImproperlyConfigured(f"LOG_FORMAT is {LOG_FORMAT!r}; it may be line or json.")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "config.redaction.JsonFormatter"},
        "line": {
            "()": "config.redaction.Formatter",
            "style": "{",
            "fmt": "{asctime} {levelname} {name} [{process}] {message}",
            "datefmt": "%Y-%m-%dT%H:%M:%S%z",
        },
    },
    "filters": {"class_and_place": {"()": "config.redaction.ClassAndPlace"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": _log_level},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        # What callers do wrong is answered, and must not flood the log.
        "django.request": {"level": "ERROR"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "gunicorn.error": {"handlers": [], "propagate": True},
        # What handlers, and receivers of their signals, leave for these to catch.
        "django.dispatch": {"filters": ["class_and_place"]},
        "asyncio": {"filters": ["class_and_place"]},
        "concurrent.futures": {"filters": ["class_and_place"]},
        "httpx": {"level": "WARNING"},
    },
}
