"""The standard `sqlite3` module is kept off the ledger, by whatever name it asks for it."""

import os
import sqlite3
from pathlib import Path

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db


@pytest.fixture
def ledger_file() -> Path:
    connection.ensure_connection()
    return Path(connection.settings_dict["NAME"])


def refuse(database: str | bytes | Path, *, uri: bool = False) -> None:
    with pytest.raises(RuntimeError, match="open through pysqlite3"):
        sqlite3.connect(database, uri=uri)


def test_the_ledger_cannot_be_opened_by_its_path(ledger_file: Path) -> None:
    refuse(str(ledger_file))
    refuse(ledger_file)
    refuse(os.fsencode(ledger_file))


def test_the_ledger_cannot_be_opened_by_another_path(
    ledger_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(ledger_file)
    refuse(link)
    monkeypatch.chdir(ledger_file.parent)
    refuse(ledger_file.name)


def test_the_ledger_cannot_be_opened_by_a_uri(ledger_file: Path) -> None:
    refuse(f"file:{ledger_file}?mode=ro", uri=True)
    refuse(f"file://{ledger_file}", uri=True)
    refuse("file:" + "".join(f"%{ord(letter):02x}" for letter in str(ledger_file)), uri=True)


def test_other_files_can_be_opened(ledger_file: Path, tmp_path: Path) -> None:
    for database in (tmp_path / "other.db", ":memory:"):
        standard = sqlite3.connect(database)
        assert standard.execute("SELECT 1").fetchone() == (1,)
        standard.close()


def test_django_opens_the_ledger_again_and_again(ledger_file: Path) -> None:
    for _ in range(2):
        connection.close()
        connection.ensure_connection()


def test_the_engine_is_not_built_on_the_standard_module(ledger_file: Path) -> None:
    assert type(connection.connection).__module__.startswith("pysqlite3")
