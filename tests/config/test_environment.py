"""Each setting of the apps is taken from the environment by its name, as the type of its default."""

from datetime import timedelta
from pathlib import Path

import environ
import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment import settings_of_the_apps
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
    monkeypatch.setattr(environ.Env, "ENVIRON", {name: text for name, (text, _) in said.items()})
    found = settings_of_the_apps(environ.Env())
    assert found == {name: value for name, (_, value) in said.items()}
    for name, value in found.items():
        require_known(name)
        require_type(name, value)


def test_what_cannot_be_read_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environ.Env, "ENVIRON", {"RETENTION": "a while"})
    with pytest.raises(ImproperlyConfigured, match="RETENTION: 'a while' is no usable duration"):
        settings_of_the_apps(environ.Env())
