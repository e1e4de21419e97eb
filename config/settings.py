"""Django's settings. What an operator may set comes from the environment, by the names in quotes.

What stands beneath each of those is its entry in docs/reference/settings.md (`make reference`), with what the
web server reads for itself.
"""

from logging import getLevelNamesMapping
from pathlib import Path

import django
from django.core.exceptions import ImproperlyConfigured

from config import databases, environment, secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
DJANGO_6 = django.VERSION >= (6, 0)

env = environment.Environment()

# The installation

DEBUG = env.bool("DEBUG", default=False)
"""A developer's machine: well-known tokens, details in errors. `make run` sets it to `1`."""

DATA_DIR = (BASE_DIR / env.str("DATA_DIR", default="data")).resolve()
"""The folder of the ledger and of static files, relative to that of `manage.py`.

Value: path.
"""
try:
    DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
except OSError as error:
    raise ImproperlyConfigured(f"DATA_DIR: {DATA_DIR} cannot be made: {error.strerror}.") from error

BIND = env.str("BIND", default="127.0.0.1").strip("[]")
"""The address that the web server listens on.

Value: address.
"""
HOST = f"[{BIND}]" if ":" in BIND else BIND  # as it stands in a URL

PORT = env.int("PORT", default=8000, within=(0, 65535))
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

ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[HOST, "localhost", "127.0.0.1", "[::1]"])
"""The names that the web server answers to.

Default: `BIND`, and `localhost,127.0.0.1,[::1]`.
"""

CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
"""Origins beside its own that may post to the console."""

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

INSTALLED_APPS = [
    "config",
    "scheduling",
    "tenants",
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

_wait_seconds = env.float("LEDGER_WAIT_SECONDS", default=10, within=databases.PATIENCE)
"""How long workers and commands wait for what others hold in the ledger. For requests there is `WEB_WAIT_SECONDS`.

Unit: seconds.
"""
DATABASES = {"default": databases.ledger_database(_ledger, wait_seconds=_wait_seconds)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TASKS = {"default": {"BACKEND": "scheduling.backend.LedgerBackend"}}

# Those of the apps, each by its name from the environment: scheduling/conf.py says what they mean.
RENTROLL = {
    "WATCHED_DIR": DATA_DIR,
    "WEB_WAITERS": 600,  # they hold no thread of this server: config/web_worker.py
    # Development delivers to this machine.
    "HTTP_ALLOW_PRIVATE_ADDRESSES": ["127.0.0.0/8", "::1/128"] if DEBUG else [],
    **environment.settings_of_the_apps(env),
}

DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # the console's forms; the API counts for itself

# Security

# gunicorn reads FORWARDED_ALLOW_IPS and tells http from https by it, so Django needs no header setting of its own.
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
if _log_level not in getLevelNamesMapping():
    raise ImproperlyConfigured(
        f"LOG_LEVEL is {_log_level!r}; it may be DEBUG, INFO, WARNING, ERROR or CRITICAL."
    )

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
