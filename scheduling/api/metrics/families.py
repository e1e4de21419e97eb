"""A metric: what it is called, what it tells, and where in a survey it is found."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import add
from typing import TypeAlias, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from scheduling.api.metrics.names import Names
from scheduling.ledger.survey import Survey
from scheduling.spread import Spread

Figure = TypeVar("Figure", float, Spread)
Sample: TypeAlias = tuple[tuple[str, ...], Figure]
Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily
Source: TypeAlias = Callable[[Survey, Names], Iterable[Sample[Figure]]]


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
