"""DATABASE_URL becomes a database that the ledger can be kept in, or a clear refusal."""

import stat
import traceback
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.databases import ledger_database, wait_no_longer_than


def test_a_sqlite_file_is_made_for_its_owner_alone_and_served_by_our_engine(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ledger.db"
    database = ledger_database(f"sqlite:///{path}")
    assert database["ENGINE"] == "scheduling.sqlite"
    assert database["NAME"] == str(path)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_postgres_url_keeps_its_own_options_beside_ours() -> None:
    database = ledger_database("postgres://me@db.example:6432/ledger?sslmode=require")
    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert (database["HOST"], database["PORT"], database["NAME"]) == ("db.example", 6432, "ledger")
    assert database["OPTIONS"]["sslmode"] == "require"
    assert database["OPTIONS"]["application_name"] == "rentroll"


def test_neither_side_of_a_postgres_connection_waits_for_ever_for_one_that_was_cut_off() -> None:
    options = ledger_database("postgres://me@db.example/ledger")["OPTIONS"]
    assert options["tcp_user_timeout"] == 10_000
    assert "tcp_user_timeout=10s" in options["options"]
    assert "tcp_keepalives_idle=10" in options["options"]


def test_patience_is_what_was_said_last() -> None:
    sqlite = ledger_database("sqlite:////tmp/ledger.db", wait_seconds=7)
    assert sqlite["OPTIONS"]["timeout"] == 7
    wait_no_longer_than(0.5, sqlite)
    assert sqlite["OPTIONS"]["timeout"] == 0.5

    postgres = ledger_database("postgres://me@db.example/ledger?options=-c%20work_mem%3D8MB")
    wait_no_longer_than(0.5, postgres)
    *before, last = postgres["OPTIONS"]["options"].split(" -c ")
    assert "work_mem=8MB" in before[0]
    assert last == "lock_timeout=500"
    assert postgres["OPTIONS"]["connect_timeout"] == 2


@pytest.mark.parametrize("said", ["0", "-1", "soon", "2.5", "100000"])
def test_a_time_to_connect_in_that_is_none_is_refused(said: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refusal:
        ledger_database(f"postgres://me@db.example/ledger?connect_timeout={said}")
    assert str(refusal.value) == (
        f"connect_timeout in DATABASE_URL is {said!r}; it may be a whole number from 1 to 86400."
    )


def test_another_database_is_refused_by_name() -> None:
    with pytest.raises(ImproperlyConfigured, match="mysql"):
        ledger_database("mysql://me@db.example/ledger")


def test_an_address_that_cannot_be_read_is_refused_without_its_password() -> None:
    password = "HUSH".lower()  # or the traceback quotes this line
    with pytest.raises(ImproperlyConfigured, match="Percent-encode") as refusal:
        ledger_database(f"postgres://me:{password}/{password}@db.example/ledger")
    assert password not in "".join(traceback.format_exception(refusal.value))
