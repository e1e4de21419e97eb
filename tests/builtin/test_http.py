"""`http.request` against a real receiver."""

import base64
import hashlib
import hmac
import json
import socket
import ssl
from collections.abc import Iterator, Sequence
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from scheduling import __version__, payload
from scheduling.builtin import addresses, delivery
from scheduling.builtin.addresses import AddressRefused
from scheduling.builtin.answer import DeliveryFailed
from scheduling.builtin.http import delay_of
from scheduling.builtin.signing import secret_of
from scheduling.errors import PermanentFailure, RetryAfter
from tests.builtin.kit import NOW, TASK_ID, perform
from tests.builtin.receiver import Answer, Receiver, receiver_on_loopback


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiver_on_loopback() as receiver:
        yield receiver


@pytest.fixture(autouse=True)
def loopback_allowed(settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"HTTP_ALLOW_PRIVATE_ADDRESSES": ["127.0.0.0/8"]}


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The answers of the resolver, one for each look-up, until it has none."""
    answers: list[str] = []

    def resolve(host: str, port: int) -> Sequence[str]:
        return [answers.pop(0)]

    monkeypatch.setattr(addresses, "system_resolver", resolve)
    return answers


def deliver(url: str, **payload: Any) -> Any:
    return perform("http.request", url=url, **payload)


class TestRequest:
    def test_the_body_travels_as_json_and_the_answer_is_the_result(
        self, receiver: Receiver
    ) -> None:
        receiver.will_answer(Answer(201, body=b"created"))
        result = deliver(receiver.url + "?a=1", body={"name": "Zoë"})

        assert isinstance(result.pop("elapsed_ms"), int)
        assert result == {"status": 201, "body": "created", "truncated": False}
        (received,) = receiver.received
        assert (received.method, received.path) == ("POST", "/hook?a=1")
        assert json.loads(received.body) == {"name": "Zoë"}
        assert received.headers["content-type"] == "application/json"
        assert received.headers["user-agent"] == f"Rentroll/{__version__}"
        assert received.headers["host"] == f"127.0.0.1:{receiver.port}"

    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "post"])
    def test_other_methods_and_no_body_travel_too(self, receiver: Receiver, method: str) -> None:
        deliver(receiver.url, method=method)
        (received,) = receiver.received
        assert received.method == method.upper()
        assert received.body == b""
        assert received.headers["content-type"] is None

    def test_headers_of_the_tenant_travel_along(self, receiver: Receiver) -> None:
        headers = {
            "Authorization": "Bearer x",
            "Content-Type": "application/ld+json",
            "User-Agent": "Acme",
        }
        deliver(receiver.url, headers=headers, body={})
        (received,) = receiver.received
        assert {name: received.headers.get_all(name) for name in headers} == {
            name: [value] for name, value in headers.items()
        }

    @pytest.mark.parametrize(
        "name",
        [
            "Host",
            "webhook-id",
            "Webhook-Signature",
            "webhook-anything",
            "Idempotency-Key",
            "Rentroll-Attempt",
            "rentroll-fencing-token",
            "Content-Length",
            "Transfer-Encoding",
            "Connection",
            "Proxy-Authorization",
            "TE",
            "Upgrade",
            "Accept-Encoding",
            "Expect",
        ],
    )
    def test_no_tenant_sets_headers_that_are_ours(self, receiver: Receiver, name: str) -> None:
        with pytest.raises(PermanentFailure, match=f"{name} is set by Rentroll"):
            deliver(receiver.url, headers={name: "x"})
        assert receiver.received == []

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("x", "a\r\nhost: evil"),
            ("x", "a\nb"),
            ("x", "\u010a"),
            ("x\r\ny", "a"),
            ("", "a"),
            ("x:", "a"),
            ("x y", "a"),
        ],
    )
    def test_nothing_is_smuggled_in_through_a_header(
        self, receiver: Receiver, name: str, value: str
    ) -> None:
        with pytest.raises(PermanentFailure, match="headers: "):
            deliver(receiver.url, headers={name: value})
        assert receiver.received == []

    @pytest.mark.parametrize("method", ["", "CONNECT", "TRACE", "BREW", "GET / HTTP/1.1\r\nx:"])
    def test_an_unknown_method_is_a_failure_for_good(self, receiver: Receiver, method: str) -> None:
        with pytest.raises(PermanentFailure, match="method: "):
            deliver(receiver.url, method=method)
        assert receiver.received == []

    def test_proxies_of_the_environment_see_nothing(
        self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with receiver_on_loopback() as proxy:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url)
            deliver(receiver.url)
            assert proxy.received == []
        assert len(receiver.received) == 1


class TestIdentity:
    def test_the_receiver_can_check_the_signature(self, receiver: Receiver) -> None:
        deliver(receiver.url, body={"amount": 7, "name": "Zoë"})
        (received,) = receiver.received
        sent = received.headers

        key = base64.b64decode(secret_of("acme").removeprefix("whsec_"))
        signed = b".".join(
            [sent["webhook-id"].encode(), sent["webhook-timestamp"].encode(), received.body]
        )
        expected = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        assert sent["webhook-signature"] == f"v1,{expected}"

    def test_a_message_keeps_its_id_while_attempt_and_token_go_up(self, receiver: Receiver) -> None:
        for attempt in (1, 2):
            deliver(receiver.url, attempt=attempt)
        first, second = (received.headers for received in receiver.received)
        for name in ("webhook-id", "idempotency-key"):
            assert first[name] == second[name] == str(TASK_ID)
        assert [first["rentroll-attempt"], second["rentroll-attempt"]] == ["1", "2"]
        assert [first["rentroll-fencing-token"], second["rentroll-fencing-token"]] == ["11", "12"]


class TestAnswer:
    @pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
    def test_some_answers_are_worth_another_attempt(self, receiver: Receiver, status: int) -> None:
        receiver.will_answer(Answer(status, body=b"later"))
        with pytest.raises(DeliveryFailed, match=f"The answer was {status}: later"):
            deliver(receiver.url)

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 413, 422])
    def test_other_refusals_are_failures_for_good(self, receiver: Receiver, status: int) -> None:
        receiver.will_answer(Answer(status, body=b"no"))
        with pytest.raises(PermanentFailure, match=f"The answer was {status}: no"):
            deliver(receiver.url)

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_a_redirect_is_not_followed(self, receiver: Receiver, status: int) -> None:
        receiver.will_answer(Answer(status, {"location": receiver.url}), Answer(200))
        with pytest.raises(PermanentFailure, match=f"The answer was {status}"):
            deliver(receiver.url)
        assert len(receiver.received) == 1

    @pytest.mark.parametrize("status", [429, 503])
    def test_the_receiver_may_name_the_time_of_the_next_attempt(
        self, receiver: Receiver, status: int
    ) -> None:
        receiver.will_answer(Answer(status, {"retry-after": "120"}))
        with pytest.raises(RetryAfter, match=f"The answer was {status}") as failure:
            deliver(receiver.url)
        assert failure.value.delay == timedelta(seconds=120)

    def test_no_other_answer_may_name_it(self, receiver: Receiver) -> None:
        receiver.will_answer(Answer(500, {"retry-after": "120"}))
        with pytest.raises(DeliveryFailed):
            deliver(receiver.url)

    @pytest.mark.parametrize(
        ("said", "delay"),
        [
            ("120", timedelta(seconds=120)),
            ("0", timedelta(seconds=1)),
            ("86400", timedelta(hours=1)),
            ("9" * 5_000, timedelta(hours=1)),
            (format_datetime(NOW + timedelta(minutes=2), usegmt=True), timedelta(minutes=2)),
            (format_datetime(NOW - timedelta(minutes=2), usegmt=True), timedelta(seconds=1)),
            (format_datetime(NOW + timedelta(days=2), usegmt=True), timedelta(hours=1)),
            ("Mon, 04 Jan 2027 12:01:00 -0000", timedelta(minutes=1)),
            ("soon", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
            (None, None),
        ],
    )
    def test_a_time_is_named_in_seconds_or_as_a_date_and_bounded(
        self, said: str | None, delay: timedelta | None
    ) -> None:
        assert delay_of(said, NOW) == delay

    def test_a_long_answer_is_cut(self, receiver: Receiver) -> None:
        receiver.will_answer(Answer(body=b"x" * 1_000_000))
        result = deliver(receiver.url)
        assert result["body"] == "x" * delivery.ANSWER_KEPT
        assert result["truncated"] is True

    def test_an_answer_that_is_no_text_can_still_be_kept(self, receiver: Receiver) -> None:
        receiver.will_answer(Answer(body=b"\0\xff\xed\xa0\x80"))
        result = deliver(receiver.url)
        payload.check(result)
        assert result["body"].startswith(r"\u0000")

    def test_a_connection_that_ends_without_an_answer_is_tried_again(
        self, receiver: Receiver
    ) -> None:
        receiver.will_answer(Answer(0))
        with pytest.raises(DeliveryFailed, match=r"127\.0\.0\.1 did not answer"):
            deliver(receiver.url)

    def test_a_port_where_nobody_listens_is_tried_again(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            with pytest.raises(DeliveryFailed, match=r"127\.0\.0\.1 did not answer"):
                deliver(f"http://127.0.0.1:{taken.getsockname()[1]}/")

    def test_a_receiver_that_stays_silent_is_tried_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(delivery, "TIMEOUT", httpx.Timeout(0.01))
        with (
            socket.create_server(("127.0.0.1", 0)) as silent,
            pytest.raises(DeliveryFailed, match="did not answer"),
        ):
            deliver(f"http://127.0.0.1:{silent.getsockname()[1]}/")


class TestGuard:
    @pytest.mark.parametrize(
        "url",
        [
            "http://169.254.169.254/latest/meta-data",
            "http://[::ffff:10.0.0.1]/",
            "http://[::1]/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://10.0.0.1:8000/",
        ],
    )
    def test_a_private_address_is_refused_for_good(self, url: str) -> None:
        with pytest.raises(AddressRefused):
            deliver(url)

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "nonsense",
            "/hook",
            "//example.org/",
            "http://",
            "http:///hook",
            "ftp://example.org/",
            "file:///etc/passwd",
            "gopher://example.org/",
            "http://exa mple.org/",
            "http://[::1/",
            "http://example.org:99999/",
            "http://example.org:0/",
            "http://example.org%2fx/",
            "http://[fe80::1%25eth0]/",
            "http://example.org/\r\nx: y",
            "http://" + "x" * 70_000,
        ],
    )
    def test_a_url_that_leads_nowhere_is_a_failure_for_good(self, url: str) -> None:
        with pytest.raises(PermanentFailure, match="The URL"):
            deliver(url)

    def test_the_address_that_was_checked_is_the_one_dialled(
        self, receiver: Receiver, lookups: list[str]
    ) -> None:
        lookups += ["127.0.0.1"]  # a second look-up would fail
        deliver(f"http://Receiver.Test:{receiver.port}/hook")
        (received,) = receiver.received
        assert received.headers["host"] == f"receiver.test:{receiver.port}"
        assert lookups == []

    def test_a_name_that_is_bound_anew_is_checked_anew(
        self, receiver: Receiver, lookups: list[str]
    ) -> None:
        lookups += ["127.0.0.1", "169.254.169.254"]
        url = f"http://receiver.test:{receiver.port}/"
        deliver(url, attempt=1)
        with pytest.raises(AddressRefused, match=r"receiver\.test leads to 169\.254\.169\.254"):
            deliver(url, attempt=2)
        assert len(receiver.received) == 1

    def test_a_name_that_does_not_resolve_is_tried_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def nothing(*args: Any, **kwargs: Any) -> Any:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", nothing)
        with pytest.raises(DeliveryFailed, match=r"receiver\.test did not answer: .* not known"):
            deliver("http://receiver.test/")

    def test_a_certificate_must_be_the_hosts_not_the_addresss(
        self, receiver: Receiver, lookups: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked_for: list[str | None] = []

        class Noting(ssl.SSLContext):
            def wrap_socket(self, *args: Any, **kwargs: Any) -> Any:
                asked_for.append(kwargs["server_hostname"])
                return super().wrap_socket(*args, **kwargs)

        context = Noting(ssl.PROTOCOL_TLS_CLIENT)
        monkeypatch.setattr(delivery, "tls", lambda: context)
        lookups += ["127.0.0.1"]
        with pytest.raises(DeliveryFailed, match=r"receiver\.test did not answer"):
            deliver(f"https://receiver.test:{receiver.port}/")
        assert asked_for == ["receiver.test"]
        assert context.check_hostname

    def test_certificates_are_checked(self) -> None:
        context = delivery.tls()
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert context.check_hostname

    def test_each_attempt_dials_the_next_address(
        self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            addresses, "system_resolver", lambda host, port: ["127.0.0.2", "127.0.0.1"]
        )
        url = f"http://receiver.test:{receiver.port}/"
        with pytest.raises(DeliveryFailed):
            deliver(url, attempt=1)
        deliver(url, attempt=2)
        assert len(receiver.received) == 1
