"""`/metrics`: what the ledger tells of itself, and to whom."""

import json
import re
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
import yaml
from django.conf import settings as project
from django.db import OperationalError, connection
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from scheduling import __version__, ledger
from scheduling.api.metrics.collector import METRICS, SURVEY_SECONDS, all_names, all_series
from scheduling.ledger.survey import survey
from scheduling.ledger.values import Succeed
from scheduling.models import Lane
from tenants.models import ApiToken, Tenant
from tests.api.kit import Api, problem
from tests.ledger.kit import at, failing, pause, put, run, say, take

pytestmark = pytest.mark.django_db(transaction=True)

LABELS = {
    SURVEY_SECONDS: (),
    **{
        series: (*metric.labels, "le") if series.endswith("_bucket") else metric.labels
        for metric in METRICS
        for series in metric.series
    },
}
Figures = dict[tuple[str, ...], float]


def figures(api: Api) -> Figures:
    """Each sample by its name and the values of its labels, in the order in which we name them."""
    answer = api.get("/metrics")
    assert answer.status_code == 200, answer.content
    return {
        (sample.name, *(sample.labels[label] for label in LABELS[sample.name])): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def surveyed(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    """Let it be told of that instant."""
    monkeypatch.setattr("scheduling.api.metrics.survey", partial(survey, now))


def test_it_tells_which_release_answers(operator: Api) -> None:
    assert figures(operator)["rentroll_build_info", __version__] == 1


@pytest.mark.ledger
def test_it_tells_what_waits_runs_is_dead_and_was_done(operator: Api, tenant_a: Tenant) -> None:
    put(tenant_a, 5)
    say(take(), failing(retry_in=None))
    run(take(2))
    take()
    told = figures(operator)
    lane = ("rentroll_tasks", "tenant-a", "default")
    assert [told[*lane, state] for state in ("ready", "held", "scheduled", "running", "dead")] == [
        1, 0, 0, 1, 1,
    ]  # fmt: skip
    assert told["rentroll_accepted_total", "tenant-a"] == 5
    assert told["rentroll_settled_total", "tenant-a", "succeeded"] == 2
    assert told["rentroll_settled_total", "tenant-a", "dead"] == 1
    assert told["rentroll_settled_total", "tenant-a", "retried"] == 0
    assert told["rentroll_unfinished_tasks",] == 2
    assert told["rentroll_workers",] == 0
    assert told["rentroll_disk_free_bytes",] > 0


@pytest.mark.ledger
def test_it_tells_how_long_the_oldest_ready_task_has_waited(
    operator: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tenant_a, now=at(-20))
    put(tenant_a, now=at(-40))
    surveyed(monkeypatch, at(2))
    assert figures(operator)["rentroll_oldest_ready_seconds", "tenant-a", "default"] == 42


@pytest.mark.ledger
def test_it_tells_lost_leases_from_stale_refusals(operator: Api, tenant_a: Tenant) -> None:
    put(tenant_a, 3)
    zombie, *_ = take(3)
    ledger.reap(ledger.held_leases(), now=at(11))
    say(zombie, Succeed(), now=at(12))
    told = figures(operator)
    assert told["rentroll_leases_lost_total", "tenant-a"] == 3
    assert told["rentroll_stale_refusals_total", "tenant-a"] == 1


@pytest.mark.ledger
def test_waits_and_runs_are_histograms(operator: Api, tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_a, 3, now=at(-40))
    run(take(2, now=at(0)), now=at(0.4))
    run(take(1, now=at(10)), now=at(10.04))
    told = figures(operator)
    waits = {
        labels[2]: value
        for labels, value in told.items()
        if labels[:2] == ("rentroll_wait_seconds_bucket", "tenant-a")
    }
    assert {le: waits[le] for le in ("30.0", "60.0", "300.0", "+Inf")} == {
        "30.0": 0, "60.0": 3, "300.0": 3, "+Inf": 3,
    }  # fmt: skip
    assert told["rentroll_wait_seconds_sum", "tenant-a"] == 40 + 40 + 50
    assert told["rentroll_wait_seconds_count", "tenant-a"] == 3
    assert told["rentroll_run_seconds_bucket", "tenant-a", "0.05"] == 1
    assert told["rentroll_run_seconds_bucket", "tenant-a", "0.5"] == 3
    assert told["rentroll_run_seconds_count", "tenant-b"] == 0


def test_what_verbs_took_is_told_of_every_process(operator: Api, tenant_a: Tenant) -> None:
    put(tenant_a)
    run(take())
    ledger.write_paces()
    told = figures(operator)
    assert told["rentroll_verb_seconds_count", "claim"] >= 1
    assert (
        told["rentroll_verb_seconds_bucket", "settle", "+Inf"]
        == told["rentroll_verb_seconds_count", "settle"]
    )


def test_what_is_only_known_of_a_file_is_told_of_a_file(operator: Api) -> None:
    on_sqlite = connection.vendor == "sqlite"
    assert (("rentroll_ledger_bytes",) in figures(operator)) is on_sqlite
    assert (("rentroll_wal_bytes",) in figures(operator)) is on_sqlite


def test_pauses_are_counted_by_whom_they_concern(operator: Api, tenant_a: Tenant) -> None:
    assert figures(operator)["rentroll_pauses", ""] == 0
    pause(tenant=tenant_a)
    pause(tenant=tenant_a, queue="mail")
    pause()
    told = figures(operator)
    assert (told["rentroll_pauses", "tenant-a"], told["rentroll_pauses", ""]) == (2, 1)
    assert told["rentroll_all_paused",] == 1


def test_tenants_beyond_the_most_that_are_named_are_summed_up(
    operator: Api, settings: Settings, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"METRICS_MAX_TENANTS": 1}
    third = Tenant.objects.create(slug="tenant-c")
    for tenant, count in ((tenant_a, 1), (tenant_b, 2), (third, 3)):
        put(tenant, count)
    told = figures(operator)
    assert told["rentroll_tasks", "tenant-a", "default", "ready"] == 1
    assert told["rentroll_tasks", "other", "other", "ready"] == 5
    assert told["rentroll_accepted_total", "other"] == 5
    tenants = {labels[1] for labels in told if "tenant" in LABELS[labels[0]]}
    assert tenants <= {"", "tenant-a", "other"}


def test_queues_beyond_the_most_that_are_named_are_summed_up(
    operator: Api, settings: Settings, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"METRICS_MAX_QUEUES": 2}
    for queue, age in (("a", 10), ("b", 20), ("c", 40), ("d", 30)):
        put(tenant_a, queue=queue, now=at(-age))
    surveyed(monkeypatch, at(0))
    Lane.objects.filter(queue="a").update(queue="z")  # its place is that of its making
    told = figures(operator)
    ready = {labels[2]: told[labels] for labels in told if labels[-1] == "ready"}
    assert ready == {"z": 1, "b": 1, "other": 2}
    assert told["rentroll_oldest_ready_seconds", "tenant-a", "other"] == 40


def test_it_is_in_the_text_format_of_prometheus(operator: Api) -> None:
    answer = operator.get("/metrics", accept="application/openmetrics-text,text/plain;q=0.5")
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    head = operator.client.head("/metrics")
    assert (head.status_code, head.content) == (200, b"")


def test_a_token_is_needed(api_a: Api) -> None:
    assert problem(Api().get("/metrics")) == (401, "unauthenticated")


def test_a_tenant_learns_nothing_of_the_others(api_a: Api) -> None:
    assert problem(api_a.get("/metrics")) == (403, "wrong-tenant")


def test_an_operators_token_must_be_allowed_to_read() -> None:
    _, secret = ApiToken.objects.issue(tenant=None, scopes=["enqueue"])
    assert problem(Api(secret).get("/metrics")) == (403, "missing-scope")


def test_it_may_be_opened_to_anybody(settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"METRICS_OPEN": True}
    assert figures(Api())["rentroll_unfinished_tasks",] == 0


def test_a_ledger_that_does_not_answer_is_a_503(
    operator: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no figures at all, rather than zeros."""

    def gone(*args: object) -> NoReturn:
        raise OperationalError("connection refused")

    monkeypatch.setattr("scheduling.ledger.totals.read", gone)
    assert problem(operator.get("/metrics")) == (503, "unavailable")


# The documents


DOCS = Path(project.BASE_DIR) / "docs"


def test_every_metric_is_explained_with_its_labels_and_no_other_is() -> None:
    lines = (DOCS / "metrics.md").read_text().splitlines()
    explained = [line.split("`")[1] for line in lines if line.startswith("| `rentroll_")]
    assert explained == all_names()


@pytest.mark.parametrize("document", ["operations/alerts.yml", "operations/dashboard.json"])
def test_what_watches_the_metrics_asks_for_no_other(document: str) -> None:
    asked_for = set(re.findall(r"\brentroll_\w+", (DOCS / document).read_text()))
    assert asked_for
    assert asked_for <= set(all_series())


def test_the_rules_and_the_dashboard_can_be_read() -> None:
    (group,) = yaml.safe_load((DOCS / "operations/alerts.yml").read_text())["groups"]
    for rule in group["rules"]:
        assert rule["expr"], rule
        assert rule["annotations"].keys() == {"summary", "description"}, rule
    panels = json.loads((DOCS / "operations/dashboard.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["targets"] for panel in panels)
