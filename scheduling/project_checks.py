"""System checks: what the project around the apps has to give them, each told with what to write."""

from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as CheckWarning
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections, router

from scheduling import options
from scheduling.backend import LedgerBackend
from scheduling.checks import LEDGER
from scheduling.compat import task_backends
from scheduling.conf import conf
from scheduling.declaring import registry
from scheduling.tables import OURS

VENDORS = ("postgresql", "sqlite")


def ledger_takes_tasks() -> bool:
    """Whether `@task` makes tasks of the ledger."""
    return isinstance(task_backends["default"], LedgerBackend)


@register(LEDGER)
def settings_can_be_read(**kwargs: Any) -> list[CheckMessage]:
    try:
        queues = conf().REMOTE_QUEUES
    except ImproperlyConfigured as error:
        hint = "docs/reference/settings.md, where Rentroll is from, states every setting with its default."
        return [Error(str(error), hint=hint, id="scheduling.E006")]
    return [
        Error(
            f"REMOTE_QUEUES names {queue!r}, which no queue can be called: it {fault}.",
            hint="REMOTE_QUEUES holds names of queues, separated by commas in the environment.",
            id="scheduling.E005",
        )
        for queue in queues
        if (fault := options.queue_fault(queue))
    ]


@register(LEDGER)
def tasks_go_to_the_ledger(**kwargs: Any) -> list[CheckMessage]:
    if ledger_takes_tasks():
        return []
    return [
        Error(
            "Tasks are not enqueued into the ledger.",
            hint='Set TASKS = {"default": {"BACKEND": "scheduling.backend.LedgerBackend"}}. Other backends '
            "may stand beside it under other names.",
            id="scheduling.E007",
        )
    ]


@register(LEDGER)
def times_are_utc(**kwargs: Any) -> list[CheckMessage]:
    if settings.USE_TZ and connections[DEFAULT_DB_ALIAS].timezone_name == "UTC":
        return []
    return [
        Error(
            "The ledger cannot keep its times in UTC.",
            hint='Set USE_TZ = True, and leave TIME_ZONE out of DATABASES["default"]. The TIME_ZONE that times '
            "are shown in may be any.",
            id="scheduling.E008",
        )
    ]


@register(LEDGER)
def the_default_database_can_hold_a_ledger(**kwargs: Any) -> list[CheckMessage]:
    ledger = connections[DEFAULT_DB_ALIAS]
    if ledger.vendor in VENDORS:
        return []
    return [
        Error(
            f"The ledger runs on SQLite and PostgreSQL, not on {ledger.settings_dict['ENGINE']}.",
            hint='It is kept in DATABASES["default"]. Others may be anything.',
            id="scheduling.E009",
        )
    ]


@register(LEDGER)
def the_ledger_stays_in_one_database(**kwargs: Any) -> list[CheckMessage]:
    elsewhere = sorted(
        model._meta.label
        for name in OURS
        for model in apps.get_app_config(name).get_models()
        if {router.db_for_read(model), router.db_for_write(model)} != {DEFAULT_DB_ALIAS}
        or not router.allow_migrate_model(DEFAULT_DB_ALIAS, model)
    )
    if not elsewhere:
        return []
    return [
        Error(
            f"DATABASE_ROUTERS send tables of the ledger elsewhere: {', '.join(elsewhere)}.",
            hint=f"Let them return None about the apps {' and '.join(OURS)}: the ledger is read and written in "
            '"default", in transactions.',
            id="scheduling.E010",
        )
    ]


@register(LEDGER)
def transactions_are_read_committed(**kwargs: Any) -> list[CheckMessage]:
    ledger = connections[DEFAULT_DB_ALIAS]
    if ledger.vendor != "postgresql" or is_read_committed(ledger.settings_dict["OPTIONS"]):
        return []
    return [
        Error(
            "Transactions on a PostgreSQL ledger must be READ COMMITTED.",
            hint='Leave "isolation_level" out of the OPTIONS of DATABASES["default"].',
            id="scheduling.E011",
        )
    ]


def is_read_committed(options: Mapping[str, Any]) -> bool:
    from psycopg import IsolationLevel

    return options.get("isolation_level") in (None, IsolationLevel.READ_COMMITTED)


@register(LEDGER)
def requests_leave_the_ledger_to_others(**kwargs: Any) -> list[CheckMessage]:
    ledger = connections[DEFAULT_DB_ALIAS]
    if ledger.vendor != "sqlite" or not ledger.settings_dict["ATOMIC_REQUESTS"]:
        return []
    return [
        CheckWarning(
            "With ATOMIC_REQUESTS each request keeps all others, and the workers, from writing for as long as "
            "it takes.",
            hint='Leave it out of DATABASES["default"], and open transactions where they are needed.',
            id="scheduling.W002",
        )
    ]


@register()
def modules_of_tasks_can_be_imported(**kwargs: Any) -> list[CheckMessage]:
    """A warning, so that workers still start for the others."""
    return [
        CheckWarning(
            f"{module} cannot be imported ({error}): its tasks are unknown handlers.",
            hint="The log has the traceback.",
            id="scheduling.W001",
        )
        for module, error in registry.failures().items()
    ]
