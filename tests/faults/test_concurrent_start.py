"""Many servers that start at once on an empty installation set it up once, and none of them fails."""

import signal
import socket
import sys
from pathlib import Path

import httpx
import pytest

from tests.faults.flood import children
from tests.installation import Installation, empty_installation, first_match
from tests.waiting import until

pytestmark = pytest.mark.timeout(180)  # dozens of processes, on as few cores as there are


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="This machine has no IPv6.")


@pytest.fixture
def empty(tmp_path: Path) -> Installation:
    """Without tables."""
    return empty_installation(tmp_path)


def test_of_eight_that_start_at_once_one_migrates_and_the_others_wait(
    empty: Installation,
) -> None:
    starting = [empty.start("bootstrap") for _ in range(8)]
    outputs = [process.communicate()[0] for process in starting]

    assert [process.returncode for process in starting] == [0] * 8, "\n".join(outputs)
    together = "".join(outputs)
    assert together.count("Applying scheduling.0001_initial") == 1
    assert together.count("Admin user: admin, password") == 1


def test_servers_workers_and_migrations_that_start_at_once_end_well_or_say_what_to_do(
    empty: Installation,
) -> None:
    """Workers that were first find no tables, and leave it to their service manager to start them again."""
    empty.environment |= {"PORT": "0", "WEB_CONCURRENCY": "1"}
    migrations = [empty.start("migrate") for _ in range(2)]
    workers = [empty.start("runworkers", "--processes=1") for _ in range(2)]
    servers = [empty.start("serve") for _ in range(2)]
    try:
        for server in servers:
            url = first_match(r"Listening at: (http://\S+)", server)
            assert httpx.get(f"{url}/readyz", timeout=60).status_code == 200
    finally:
        for process in (*servers, *workers):
            process.send_signal(signal.SIGTERM)
        outputs = {one: one.communicate()[0] for one in (*migrations, *workers, *servers)}

    assert {one.returncode for one in (*migrations, *servers)} == {0}, outputs
    assert (
        "".join(outputs.values()).count("Applying scheduling.0001_initial") <= 1
    )  # serve is quiet
    for one in workers:
        stopped = one.returncode in (0, -signal.SIGTERM)
        assert stopped or "Run `manage.py migrate`" in outputs[one], outputs[one]
        assert "Traceback" not in outputs[one]


def test_a_server_refuses_the_ledger_of_a_newer_release_and_starts_nothing(
    installation: Installation,
) -> None:
    future = (
        "from django.db.migrations.recorder import MigrationRecorder as Recorder;"
        "Recorder.Migration.objects.create(app='tenants', name='9999_of_the_future')"
    )
    done = installation.start("shell", "-c", future)
    output, _ = done.communicate()
    assert done.returncode == 0, output

    for program in ("serve", "runworkers"):
        refused = installation.start(program)
        output, _ = refused.communicate()
        assert refused.returncode == 2, output
        assert "A newer release has changed the tables (tenants.9999_of_the_future)" in output
        assert "Traceback" not in output
        assert "serves on" not in output


def test_who_asks_as_soon_as_it_says_where_is_answered(empty: Installation) -> None:
    empty.environment["PORT"] = "0"
    with empty.start("serve") as server:
        url = first_match(r"Rentroll serves on (http://\S+)", server)
        assert httpx.get(f"{url}/readyz", timeout=60).json()["status"] == "ready"
        server.terminate()


@needs_ipv6
def test_a_server_at_an_address_of_ipv6_says_where_in_a_url_that_is_one(
    empty: Installation,
) -> None:
    empty.environment |= {"PORT": "0", "WEB_CONCURRENCY": "1", "BIND": "::1"}
    with empty.start("serve") as server:
        try:
            url = first_match(r"Rentroll serves on (http://\S+)", server)
            assert httpx.get(f"{url}/readyz", timeout=60).status_code == 200
            assert first_match(r"Listening at: (http://\S+)", server) == url
        finally:
            server.terminate()
            server.communicate()


@needs_ipv6
def test_a_port_that_is_taken_is_told_apart_from_an_address_of_ipv6(
    empty: Installation,
) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as other:
        taken = other.getsockname()[1]
        empty.environment |= {"PORT": str(taken), "BIND": "::1"}
        refused = empty.start("serve")
        output, _ = refused.communicate()

    assert refused.returncode == 2, output
    assert f"Cannot serve on port {taken} of [::1]: Address already in use. Name " in output


def test_a_server_whose_address_is_none_of_this_machine_is_not_told_to_change_the_port(
    empty: Installation,
) -> None:
    empty.environment["BIND"] = "192.0.2.7"  # set apart for documents
    refused = empty.start("serve")
    output, _ = refused.communicate()

    assert refused.returncode == 2, output
    assert "of 192.0.2.7: Cannot assign requested address. Name another one in BIND." in output


def test_a_server_whose_port_is_taken_says_so_before_it_sets_anything_up(
    empty: Installation,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        empty.environment["PORT"] = str(taken)
        refused = empty.start("serve")
        output, _ = refused.communicate()

    assert refused.returncode == 2, output
    assert f"Cannot serve on port {taken} of 127.0.0.1" in output
    assert "Name another one in PORT" in output
    for what in ("Traceback", "password", "serves on"):
        assert what not in output


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux lists the children of a process.")
@pytest.mark.parametrize("asking", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_stop_while_it_sets_up_does_so_and_leaves_nobody_behind(
    empty: Installation, asking: signal.Signals
) -> None:
    with empty.start("serve") as server:
        (setup,) = until(lambda: children(server.pid))
        server.send_signal(asking)
        server.wait()
        assert not Path(f"/proc/{setup}").exists()
        output, _ = server.communicate()
    assert (server.returncode, output) == (0, "")


def test_eight_web_workers_serve_an_empty_installation_until_asked_to_stop(
    empty: Installation,
) -> None:
    empty.environment |= {"WEB_CONCURRENCY": "8", "PORT": "0"}
    with empty.start("serve") as server:
        try:
            url = first_match(r"Listening at: (http://\S+)", server)
            assert httpx.get(f"{url}/readyz", timeout=60).status_code == 200
        finally:
            server.send_signal(signal.SIGTERM)
            rest, _ = server.communicate()
    assert server.returncode == 0, rest
