"""docs/how-to/move-to-postgresql.md, typed from top to bottom."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from scheduling import ledger
from tests.installation import MANAGE
from tests.moving.both_sides import Templates, ledger_at
from tests.packaging.project import SNIPPETS
from tests.pages import DOCS
from tests.walks import blocks_of, walking

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(180),  # many programs are started, one after the other
]


class TestTheGuide:
    """docs/how-to/move-to-postgresql.md, typed from top to bottom."""

    PAGE = DOCS / "how-to" / "move-to-postgresql.md"
    STAND_ALONE, OF_THEIRS = "In the stand-alone project", "In a project of your own"
    REHEARSAL, BACK = "A rehearsal", "Going back"
    GO_ON = "on_new setpaused false\n"

    def test_what_is_typed_in_the_stand_alone_project_moves_it_and_takes_it_back(
        self, templates: Templates, tmp_path: Path
    ) -> None:
        sides = templates.sides()
        file = shutil.move(sides.source.removeprefix("sqlite:///"), tmp_path / "scheduler.db")
        (tmp_path / "manage.py").symlink_to(MANAGE)
        second = templates.address_of(templates.new_database())
        addresses = {"NEW": sides.target, "SECOND": second}
        with walking(tmp_path, **addresses, DATA_DIR=str(tmp_path), DEBUG="1") as walk:
            for block in blocks_of(self.PAGE, without=[self.OF_THEIRS]):
                if block.text != self.GO_ON:
                    walk.take(block)
        with ledger_at(f"sqlite:///{file}"):
            assert not ledger.control().paused

    def test_what_is_typed_in_a_project_of_their_own_moves_it(
        self, templates: Templates, tmp_path: Path
    ) -> None:
        name = templates.new_database()
        target = templates.address_of(name)
        settings, _, on_sqlite, *_ = SNIPPETS
        with walking(tmp_path, NEW=target, PYTHONPATH=str(MANAGE.parent), **libpq(target)) as walk:
            walk.type("django-admin startproject shop .")
            with (tmp_path / "shop" / "settings.py").open("a") as file:
                file.writelines([settings, on_sqlite])
            walk.type("python manage.py migrate")
            for block in blocks_of(
                self.PAGE, without=[self.STAND_ALONE, self.REHEARSAL, self.BACK]
            ):
                theirs = block.text.replace('"NAME": "rentroll"', f'"NAME": "{name}"')
                walk.take(replace(block, text=theirs))
        with ledger_at(target):
            assert not ledger.control().paused


def libpq(url: str) -> dict[str, str]:
    """Where libpq looks for what the settings of a database leave out."""
    parts = conninfo_to_dict(url)
    named = {part: parts.get(part) for part in ("host", "port", "user", "password")}
    return {f"PG{part.upper()}": str(value) for part, value in named.items() if value}
