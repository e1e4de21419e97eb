"""Owns how the figures of a survey become metrics. What each of them means stands in docs/metrics.md."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector as Collects

from scheduling.api.metrics.families import Family, Histogram, Metric
from scheduling.api.metrics.names import Names
from scheduling.api.metrics.sources import (
    build,
    limits,
    of_attempts,
    of_tenants,
    oldest_ready,
    paces,
    pauses,
    settled,
    single,
    tasks,
)
from scheduling.ledger import storage
from scheduling.ledger.spreads import Timed
from scheduling.ledger.survey import Survey

SURVEY_SECONDS = "rentroll_survey_seconds"
PLACE = ("tenant", "queue")
TENANT = ("tenant",)
METRICS: tuple[Metric | Histogram, ...] = (
    Metric("rentroll_tasks", "Tasks that wait, run or are dead", (*PLACE, "state"), tasks),
    Metric(
        "rentroll_oldest_ready_seconds", "Age of the oldest ready task", PLACE, oldest_ready, max
    ),
    Metric(
        "rentroll_accepted_total",
        "Tasks accepted, or redriven",
        TENANT,
        of_tenants(lambda one: one.accepted),
    ),
    Metric(
        "rentroll_settled_total",
        "Attempts and tasks that ended, by what became of the task",
        (*TENANT, "outcome"),
        settled,
    ),
    Metric(
        "rentroll_leases_lost_total",
        "Attempts whose worker died or fell silent",
        TENANT,
        of_tenants(lambda one: one.totals["lost"]),
    ),
    Metric(
        "rentroll_stale_refusals_total",
        "Times that a worker spoke for a lease it no longer held",
        TENANT,
        of_tenants(lambda one: one.totals["refused"]),
    ),
    Histogram(
        "rentroll_wait_seconds",
        "What ended attempts had waited, from due to claimed",
        TENANT,
        of_attempts(Timed.WAIT),
    ),
    Histogram(
        "rentroll_run_seconds",
        "What ended attempts had run, from claimed to ended",
        TENANT,
        of_attempts(Timed.RUN),
    ),
    Histogram(
        "rentroll_verb_seconds",
        "What calls to the ledger took, transaction and all",
        ("verb",),
        paces,
    ),
    Metric(
        "rentroll_tenant_unfinished_tasks",
        "Tasks accepted and not finished",
        TENANT,
        of_tenants(lambda one: one.unfinished),
    ),
    Metric("rentroll_tenant_max_queued", "Limit of those", TENANT, limits("max_queued")),
    Metric("rentroll_tenant_max_in_flight", "Limit of what runs", TENANT, limits("max_in_flight")),
    Metric(
        "rentroll_unfinished_tasks",
        "Tasks accepted and not finished, of all tenants",
        (),
        single(lambda survey: survey.unfinished),
    ),
    Metric(
        "rentroll_max_unfinished_tasks",
        "Beyond this nobody's tasks are accepted",
        (),
        single(lambda survey: survey.most_unfinished),
    ),
    Metric("rentroll_pauses", "Pauses in force", TENANT, pauses),
    Metric(
        "rentroll_all_paused",
        "1 while everything is paused",
        (),
        single(lambda survey: survey.is_all_paused),
    ),
    Metric("rentroll_workers", "Worker processes", (), single(lambda survey: len(survey.alive))),
    Metric(
        "rentroll_worker_slots",
        "Tasks that they can run at once",
        (),
        single(lambda survey: sum(worker.slots for worker in survey.alive)),
    ),
    Metric(
        "rentroll_leases_overdue",
        "Leases that ran out and were not ended yet",
        (),
        single(lambda survey: survey.overdue_leases),
    ),
    Metric(
        "rentroll_disk_free_bytes",
        "Free where the ledger is kept",
        (),
        single(lambda survey: survey.sizes["free_bytes"]),
    ),
    Metric(
        "rentroll_disk_min_free_bytes",
        "With less, nobody's tasks are accepted",
        (),
        single(lambda survey: storage.least_free_bytes()),
    ),
    Metric(
        "rentroll_ledger_bytes",
        "Size of an SQLite ledger",
        (),
        single(lambda survey: survey.sizes.get("ledger_bytes")),
    ),
    Metric(
        "rentroll_wal_bytes",
        "Size of its write-ahead log",
        (),
        single(lambda survey: survey.sizes.get("wal_bytes")),
    ),
    Metric("rentroll_build_info", "1, with the version that answers", ("version",), build),
)


class Collector(Collects):
    """One survey, as metrics: made for a request, and forgotten with it."""

    def __init__(self, survey: Survey, names: Names, *, seconds: float) -> None:
        self._survey = survey
        self._names = names
        self._seconds = seconds
        """That the survey took."""

    def collect(self) -> Iterator[Family | HistogramMetricFamily]:
        for metric in METRICS:
            yield metric.family(self._survey, self._names)
        yield GaugeMetricFamily(SURVEY_SECONDS, "Seconds it took to read all this", self._seconds)


def all_names() -> list[str]:
    """Of every metric there is."""
    return [*(metric.name for metric in METRICS), SURVEY_SECONDS]


def all_series() -> list[str]:
    """Everything that a query may ask for."""
    return [*(series for metric in METRICS for series in metric.series), SURVEY_SECONDS]
