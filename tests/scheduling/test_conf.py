"""What a project sets holds, what it leaves out has its default, and what it mistypes is refused by name."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from scheduling.conf import DEFAULTS, conf


def test_a_project_that_sets_nothing_has_the_defaults(settings: Settings) -> None:
    settings.RENTROLL = {}  # Django tells of this, and in the end of its undoing, but of no deletion
    del settings.RENTROLL
    assert vars(conf()) == DEFAULTS


def test_what_it_sets_holds_and_the_rest_stays(settings: Settings) -> None:
    settings.RENTROLL = {"RETENTION": timedelta(hours=1), "REMOTE_QUEUES": ["films"]}
    assert timedelta(hours=1) == conf().RETENTION
    assert conf().REMOTE_QUEUES == ["films"]
    assert DEFAULTS["METRICS_MAX_QUEUES"] == conf().METRICS_MAX_QUEUES


def test_a_slip_of_the_pen_is_not_taken_for_no_setting(settings: Settings) -> None:
    settings.RENTROLL = {"RETENTON": timedelta(days=1)}
    with pytest.raises(ImproperlyConfigured, match=r"'RETENTON'.* Did you mean RETENTION\?"):
        conf()


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("RETENTION", "30d", "timedelta"),
        ("METRICS_OPEN", 1, "bool"),
        ("TENANT_MAX_QUEUED", True, "int"),
        ("WATCHED_DIR", "data", "Path"),
        ("REMOTE_QUEUES", "films", "list of texts"),
        ("REMOTE_QUEUES", [Path("films")], "list of texts"),
    ],
)
def test_another_type_is_refused_by_the_name_of_the_setting(
    settings: Settings, name: str, value: object, wanted: str
) -> None:
    settings.RENTROLL = {name: value}
    with pytest.raises(ImproperlyConfigured, match=rf'RENTROLL\["{name}"\] .* must be a {wanted}'):
        conf()


@pytest.mark.parametrize(
    ("name", "value", "bounds"),
    [
        ("WEB_WAITERS", -1, "0 to 2147483647"),
        ("TENANT_MAX_QUEUED", 2**31, "0 to 2147483647"),
        ("TENANT_RATE_PER_SECOND", 10**9 + 1, "0 to 1000000000"),
        ("TENANT_RATE_BURST", 0, "1 to 2147483647"),
    ],
)
def test_a_number_out_of_bounds_is_refused_by_the_name_of_the_setting(
    settings: Settings, name: str, value: int, bounds: str
) -> None:
    settings.RENTROLL = {name: value}
    with pytest.raises(ImproperlyConfigured) as refusal:
        conf()
    assert (
        str(refusal.value) == f'RENTROLL["{name}"] is {value}, and must be a number from {bounds}.'
    )
