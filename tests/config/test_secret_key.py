"""Production is refused without a secret key of its own; development keeps one for itself."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import secret_key

TOGETHER = 8


@pytest.mark.parametrize(
    "key",
    [
        "",
        "x" * (secret_key.LEAST_LENGTH - 1),
        "development-" + "x" * 64,
        "django-insecure-" + "x" * 64,
    ],
)
def test_production_refuses_a_missing_short_or_development_key(key: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY must be a random text"):
        secret_key.checked(key)


def test_production_takes_a_key_of_its_own() -> None:
    assert secret_key.checked("x" * secret_key.LEAST_LENGTH) == "x" * secret_key.LEAST_LENGTH


def test_a_kept_key_is_private_and_production_refuses_it(tmp_path: Path) -> None:
    key = secret_key.kept_in(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    with pytest.raises(ImproperlyConfigured):
        secret_key.checked(key)


def test_those_who_start_together_keep_one_key(tmp_path: Path) -> None:
    barrier = Barrier(TOGETHER)

    def start(_: int) -> str:
        barrier.wait()
        return secret_key.kept_in(tmp_path / "key")

    with ThreadPoolExecutor(TOGETHER) as pool:
        keys = set(pool.map(start, range(TOGETHER)))
    assert keys == {(tmp_path / "key").read_text()}
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
