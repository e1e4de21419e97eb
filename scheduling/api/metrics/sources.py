"""Where the figures of metrics are found in a survey, and under which labels."""

from collections.abc import Callable, Iterator

from scheduling import __version__
from scheduling.api.metrics.families import Sample, Source
from scheduling.api.metrics.names import Names
from scheduling.ledger.spreads import Timed, spread_of
from scheduling.ledger.survey import Survey, TenantFigures
from scheduling.spread import Spread

STATES = ("ready", "held", "scheduled", "running", "dead")
OUTCOMES = ("succeeded", "retried", "dead", "cancelled")
EVERYBODY = ""
"""The tenant in the labels of a pause that covers all of them."""


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
