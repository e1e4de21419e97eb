"""Each setting of the apps is taken from the environment by its name, as the type of its default."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment import Environment, settings_of_the_apps
from scheduling.conf import require_known, require_type


def test_what_is_said_is_read_and_nothing_else_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        "METRICS_OPEN": ("on", True),
        "TENANT_MAX_QUEUED": ("0", 0),
        "DEFAULT_TENANT": ("acme", "acme"),
        "REMOTE_QUEUES": ("films,stills", ["films", "stills"]),
        "WATCHED_DIR": ("/srv", Path("/srv")),
        "RETENTION": ("12h", timedelta(hours=12)),
    }
    monkeypatch.setattr(Environment, "ENVIRON", {name: text for name, (text, _) in said.items()})
    found = settings_of_the_apps(Environment())
    assert found == {name: value for name, (_, value) in said.items()}
    for name, value in found.items():
        require_known(name)
        require_type(name, value)


def test_what_cannot_be_read_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Environment, "ENVIRON", {"RETENTION": "a while"})
    with pytest.raises(ImproperlyConfigured, match="RETENTION: 'a while' is no usable duration"):
        settings_of_the_apps(Environment())


@pytest.mark.parametrize(
    ("kind", "said", "told"),
    [
        ("int", "80O0", "NAME is '80O0'; it may be a whole number."),
        ("int", "", "NAME is ''; it may be a whole number."),
        ("float", "10m", "NAME is '10m'; it may be a number."),
        ("float", "inf", "NAME is 'inf'; it may be a number."),
        ("bool", "yess", "NAME is 'yess'; it may be 1 or 0."),
    ],
)
def test_what_is_said_in_another_form_is_not_guessed_at(
    kind: str, said: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Environment, "ENVIRON", {"NAME": said})
    with pytest.raises(ImproperlyConfigured) as refusal:
        getattr(Environment(), kind)("NAME", default=1)
    assert str(refusal.value) == told


@pytest.mark.parametrize(
    ("kind", "said", "told"),
    [
        ("int", "0", "NAME is '0'; it may be a whole number from 1 to 4."),
        ("int", "5", "NAME is '5'; it may be a whole number from 1 to 4."),
        ("int", "1.5", "NAME is '1.5'; it may be a whole number from 1 to 4."),
        ("float", "0.9", "NAME is '0.9'; it may be a number from 1 to 4."),
        ("float", "-2", "NAME is '-2'; it may be a number from 1 to 4."),
        ("float", "nan", "NAME is 'nan'; it may be a number from 1 to 4."),
    ],
)
def test_a_number_out_of_bounds_is_refused(
    kind: str, said: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Environment, "ENVIRON", {"NAME": said})
    with pytest.raises(ImproperlyConfigured) as refusal:
        getattr(Environment(), kind)("NAME", default=2, within=(1, 4))
    assert str(refusal.value) == told


def test_bounds_are_numbers_that_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for said in ("1", "4"):
        monkeypatch.setattr(Environment, "ENVIRON", {"NAME": said})
        assert Environment().int("NAME", within=(1, 4)) == int(said)
        assert Environment().float("NAME", within=(1, 4)) == float(said)


def test_a_setting_of_the_apps_has_the_bounds_that_it_has_in_any_project(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Environment, "ENVIRON", {"TENANT_RATE_BURST": "0"})
    with pytest.raises(ImproperlyConfigured, match=r"is '0'; it may be a whole number from 1 to "):
        settings_of_the_apps(Environment())


def test_yes_and_no_have_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, meant in {"1": True, "True": True, " on ": True, "0": False, "NO": False}.items():
        monkeypatch.setattr(Environment, "ENVIRON", {"NAME": said})
        assert Environment().bool("NAME", default=not meant) is meant
