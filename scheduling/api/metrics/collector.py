"""Owns how the figures of a survey become metrics. What each of them means stands in docs/metrics.md."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import add
from typing import TypeAlias, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector as Collects

from scheduling import __version__
from scheduling.api.metrics.names import Names
from scheduling.ledger import storage
from scheduling.ledger.spreads import Timed, spread_of
from scheduling.ledger.survey import Survey, TenantFigures
from scheduling.spread import Spread

Figure = TypeVar("Figure", float, Spread)
Sample: TypeAlias = tuple[tuple[str, ...], Figure]
Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily
Source: TypeAlias = Callable[[Survey, Names], Iterable[Sample[Figure]]]

STATES = ("ready", "held", "scheduled", "running", "dead")
OUTCOMES = ("succeeded", "retried", "dead", "cancelled")
EVERYBODY = ""
"""The tenant in the labels of a pause that covers all of them."""


def merged(
    samples: Iterable[Sample[Figure]], merge: Callable[[Figure, Figure], Figure]
) -> dict[tuple[str, ...], Figure]:
    """One value for those with the same labels."""
    values: dict[tuple[str, ...], Figure] = {}
    for labels, value in samples:
        values[labels] = merge(values[labels], value) if labels in values else value
    return values


@dataclass(frozen=True, slots=True)
class Metric:
    """A name, what it tells, and where it is found. Samples with the same labels are merged into one."""

    name: str
    help: str
    labels: tuple[str, ...]
    samples: Source[float]
    merge: Callable[[float, float], float] = add

    @property
    def series(self) -> tuple[str, ...]:
        """What a query may ask for."""
        return (self.name,)

    @property
    def kind(self) -> type[Family]:
        return CounterMetricFamily if self.name.endswith("_total") else GaugeMetricFamily

    def family(self, survey: Survey, names: Names) -> Family:
        family = self.kind(self.name, self.help, labels=self.labels)
        for labels, value in merged(self.samples(survey, names), self.merge).items():
            family.add_metric(labels, value)
        return family


@dataclass(frozen=True, slots=True)
class Histogram:
    """The same of durations, which are counted up to each of some bounds."""

    name: str
    help: str
    labels: tuple[str, ...]
    samples: Source[Spread]

    @property
    def series(self) -> tuple[str, ...]:
        return f"{self.name}_bucket", f"{self.name}_count", f"{self.name}_sum"

    def family(self, survey: Survey, names: Names) -> HistogramMetricFamily:
        family = HistogramMetricFamily(self.name, self.help, labels=self.labels)
        for labels, spread in merged(self.samples(survey, names), add).items():
            buckets = [(str(bound), count) for bound, count in spread.up_to.items()]
            family.add_metric(labels, [*buckets, ("+Inf", spread.count)], spread.seconds)
        return family


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


SURVEY_SECONDS = "rentroll_survey_seconds"


def tasks(survey: Survey, names: Names) -> Iterator[Sample[float]]:
    for lane in survey.lanes:
        for state in STATES:
            yield (*names.lane(lane), state), getattr(lane, state)


def oldest_ready(survey: Survey, names: Names) -> Iterator[Sample[float]]:
    for lane in survey.lanes:
        yield names.lane(lane), survey.age(lane).total_seconds()


def settled(survey: Survey, names: Names) -> Iterator[Sample[float]]:
    for one in survey.tenants:
        for outcome in OUTCOMES:
            yield (names.tenant(one.tenant.pk), outcome), one.totals[outcome]


def of_tenants(figure: Callable[[TenantFigures], float]) -> Source[float]:
    """Of each tenant one figure."""

    def samples(survey: Survey, names: Names) -> Iterator[Sample[float]]:
        for one in survey.tenants:
            yield (names.tenant(one.tenant.pk),), figure(one)

    return samples


def of_attempts(timed: Timed) -> Source[Spread]:
    """Of the attempts of each tenant."""

    def samples(survey: Survey, names: Names) -> Iterator[Sample[Spread]]:
        for one in survey.tenants:
            yield (names.tenant(one.tenant.pk),), spread_of(timed, one.totals)

    return samples


def paces(survey: Survey, names: Names) -> Iterator[Sample[Spread]]:
    for verb, spread in survey.paces.items():
        yield (verb,), spread


def limits(field: str) -> Source[float]:
    """Of the tenants that are named, and have that limit: those of the others have no sum."""

    def samples(survey: Survey, names: Names) -> Iterator[Sample[float]]:
        for one in survey.tenants:
            limit = getattr(one.tenant, field)
            if limit is not None and names.is_named(one.tenant.pk):
                yield (one.tenant.slug,), limit

    return samples


def pauses(survey: Survey, names: Names) -> Iterator[Sample[float]]:
    yield (EVERYBODY,), 0
    for pause in survey.pauses:
        yield (names.tenant(pause.tenant_id) if pause.tenant_id else EVERYBODY,), 1


def build(survey: Survey, names: Names) -> Iterator[Sample[float]]:
    yield (__version__,), 1


def single(figure: Callable[[Survey], float | None]) -> Source[float]:
    """One figure of the whole; none at all when there is nothing to tell."""

    def samples(survey: Survey, names: Names) -> Iterator[Sample[float]]:
        value = figure(survey)
        if value is not None:
            yield (), value

    return samples


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


def all_names() -> list[str]:
    """Of every metric there is."""
    return [*(metric.name for metric in METRICS), SURVEY_SECONDS]


def all_series() -> list[str]:
    """Everything that a query may ask for."""
    return [*(series for metric in METRICS for series in metric.series), SURVEY_SECONDS]
