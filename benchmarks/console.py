"""Milliseconds and queries of every page of the console, beside a million tasks with five million attempts.

Of ten thousand tenants, one has half of all tasks. A visit is a request through all the middleware and the
whole of the page, in one process without a network.
"""

from typing import Any

from benchmarks.figures import Report, Row, at_most, percentile
from benchmarks.peers import OURS
from benchmarks.plan import Plan, say
from benchmarks.stage import Database, Stage

DATABASES = (Database.SQLITE, Database.POSTGRESQL)
MOST_MILLISECONDS = 300
MOST_QUERIES = 15


def run(plan: Plan) -> Report:
    size = plan.pick(full=1_000, quick=100, smoke=1)
    with (
        Stage() as stage,
        stage.scene(plan.database, django_settings=OURS.django_settings) as scene,
    ):
        say(f"loading {size * 1000:,} tasks")
        scene.play(
            "benchmarks.acts.archive:build",
            tenants=size * 10,
            succeeded=size * 800,
            dead=size * 100,
            ready=size * 60,
            future=size * 40,
        )
        visits = plan.pick(full=10, quick=5, smoke=1)
        pages = scene.play("benchmarks.acts.visiting:time_pages", rounds=visits)
    return Report(benchmark="console", database=plan.database, rows=_rows(pages))


def _rows(pages: dict[str, dict[str, Any]]) -> list[Row]:
    """The worst first, which is what is asked for; then every page."""
    times = {page: percentile(found["ms"], 95) for page, found in pages.items()}
    queries = {page: found["queries"] for page, found in pages.items()}
    slowest, busiest = max(times, key=times.__getitem__), max(queries, key=queries.__getitem__)
    return [
        Row(
            figure=f"slowest page, p95 ms: {slowest}",
            ours=[times[slowest]],
            must=at_most(MOST_MILLISECONDS),
        ),
        Row(figure=f"most queries: {busiest}", ours=[queries[busiest]], must=at_most(MOST_QUERIES)),
        *(
            Row(figure=f"{page}, p95 ms, with {queries[page]} queries", ours=[times[page]])
            for page in sorted(pages)
        ),
    ]
