"""How often somebody may try: by all processes together, never locked out for longer than one refill."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from django.db import connection

from tenants.sign_in import Allowance, SignInTries, give_back, of_stranger, spend

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
THREE = Allowance("account", "ana", 3, MINUTE)
PLENTY = Allowance("address", "192.0.2.7", 100, MINUTE)


@pytest.mark.django_db
def test_after_its_tries_an_account_waits_for_one_refill_at_most() -> None:
    assert [spend([THREE], NOW) for _ in range(3)] == [None] * 3
    assert spend([THREE], NOW) == MINUTE
    assert spend([THREE], NOW + MINUTE / 2) == MINUTE / 2
    assert spend([THREE], NOW + MINUTE) is None
    assert spend([THREE], NOW + MINUTE) == MINUTE
    assert [spend([THREE], NOW + 10 * MINUTE) for _ in range(4)] == [None, None, None, MINUTE]


@pytest.mark.django_db
def test_what_is_refused_by_one_allowance_costs_nothing_of_the_other() -> None:
    for _ in range(200):
        spend([THREE, PLENTY], NOW)
    other = Allowance("account", "ben", 100, MINUTE)
    assert [spend([other, PLENTY], NOW) for _ in range(98)] == [None] * 97 + [MINUTE]


@pytest.mark.django_db
def test_a_good_try_costs_nothing() -> None:
    for _ in range(10):
        assert spend([THREE], NOW) is None
        give_back([THREE], NOW)


@pytest.mark.django_db
def test_a_name_is_stored_nowhere_and_no_longer_than_it_counts() -> None:
    spend(of_stranger("my-password", "192.0.2.7"), NOW)
    assert "my-password" not in str(list(SignInTries.objects.values_list()))
    spend([PLENTY], NOW + timedelta(days=1))
    assert [row.digest for row in SignInTries.objects.all()] == [PLENTY.digest]


@pytest.mark.django_db(transaction=True)
def test_of_many_tries_at_once_no_more_are_let_through() -> None:
    barrier = Barrier(8)

    def try_it(_: int) -> bool:
        barrier.wait()
        try:
            return spend([THREE, PLENTY], NOW) is None
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(try_it, range(8))) == 3
