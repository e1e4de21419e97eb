"""Bodies that are too large, too deep, cut short or no JSON: refused, bounded, and nothing stored."""

import io
import json
from collections.abc import Iterator

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest

from scheduling import payload
from scheduling.api.v1 import body
from scheduling.api.v1.problems import Refused
from scheduling.models import Task
from tests.api.kit import JSON, Api, Response, faults, problem

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]

ENVELOPE = len(json.dumps({"name": "demo.echo", "payload": {"message": ""}}))


@pytest.fixture(autouse=True)
def nothing_is_stored(request: pytest.FixtureRequest, db: None) -> Iterator[None]:
    yield
    if "is_taken" not in request.node.name:
        assert not Task.objects.exists()


def test_a_body_at_the_limit_is_taken(api_a: Api) -> None:
    assert api_a.enqueue(payload={"message": "x" * (body.MAX_BYTES - ENVELOPE)}).status_code == 201
    listed = api_a.get("/v1/tasks")
    assert len(listed.content) < 1000


def test_one_byte_more_is_refused(api_a: Api) -> None:
    refused = api_a.enqueue(payload={"message": "x" * (body.MAX_BYTES - ENVELOPE + 1)})
    assert problem(refused) == (413, "body-too-large")


def test_a_content_length_over_the_limit_is_refused_unread() -> None:
    request = incoming(NeverRead(), CONTENT_LENGTH=str(body.MAX_BYTES + 1))
    assert refusal(request) == "body-too-large"


def test_a_body_that_ends_before_its_content_length_is_refused() -> None:
    assert refusal(incoming(io.BytesIO(b"{}"), CONTENT_LENGTH="3")) == "malformed-request"


@pytest.mark.parametrize("length", ["-1", "two", "1_0", "²"])
def test_a_content_length_that_is_no_number_is_refused(length: str) -> None:
    request = incoming(io.BytesIO(b"{}"), CONTENT_LENGTH=length)
    assert refusal(request) == "malformed-request"


def test_a_chunked_body_is_taken() -> None:
    assert body.read(chunked(io.BytesIO(b'{"a": 1}'))) == b'{"a": 1}'


def test_a_chunked_body_is_read_no_further_than_one_byte_past_the_limit() -> None:
    endless = Endless()
    assert refusal(chunked(endless)) == "body-too-large"
    assert endless.was_read == body.MAX_BYTES + 1


def test_a_chunked_body_at_the_limit_is_taken() -> None:
    assert len(body.read(chunked(io.BytesIO(b"x" * body.MAX_BYTES)))) == body.MAX_BYTES


def test_a_broken_chunk_is_refused() -> None:
    assert refusal(chunked(Broken())) == "malformed-request"


def test_a_server_that_cannot_end_chunks_is_never_waited_for() -> None:
    request = incoming(NeverRead(), HTTP_TRANSFER_ENCODING="chunked")
    assert refusal(request) == "length-required"


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "", "x"])
def test_another_media_type_is_refused(api_a: Api, media_type: str) -> None:
    refused = api_a.client.post("/v1/tasks", b"{}", content_type=media_type)
    assert problem(refused) == (415, "unsupported-media-type")


def test_a_compressed_body_is_refused(api_a: Api) -> None:
    refused = api_a.post("/v1/tasks", b"\x1f\x8b", content_encoding="gzip")
    assert problem(refused) == (415, "unsupported-media-type")


def test_a_parameter_of_the_media_type_does_not_matter_and_is_taken(api_a: Api) -> None:
    text = '{"name": "demo.echo"}'
    for media_type in (f"{JSON}; charset=utf-8", "Application/JSON", f"{JSON};charset=bz2_codec"):
        assert api_a.client.post("/v1/tasks", text, content_type=media_type).status_code == 201


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"demo.echo"',
        b'{"name": "demo.echo"} x',
        b"{'name': 'demo.echo'}",
        b'{"name": "demo.echo", "name": "demo.echo"}',
        b'{"name": "demo.echo", "priority": NaN}',
        b'{"name": "demo.echo", "priority": 1e999}',
        b'{"name": "demo.echo", "priority": ' + b"9" * 5000 + b"}",
        '{"name": "démo"}'.encode("latin-1"),
        b"\xef\xbb\xbf{}",
    ],
)
def test_what_is_not_a_json_object_is_refused(api_a: Api, text: bytes) -> None:
    assert faults(api_a.post("/v1/tasks", text))


def test_a_body_that_begins_with_a_byte_order_mark_is_taken(api_a: Api) -> None:
    text = b'\xef\xbb\xbf{"name": "demo.echo"}'
    assert api_a.post("/v1/tasks", text).status_code == 201


@pytest.mark.parametrize(
    "text",
    [
        r'{"message": "\ud800"}',
        r'{"message": "\udfff\ud800"}',
        r'{"\ud800": 1}',
        r'{"message": "a\u0000b"}',
        r'{"\u0000": 1}',
        r'{"deep": [{"er": "\udead"}]}',
    ],
)
def test_characters_that_no_database_stores_are_refused(api_a: Api, text: str) -> None:
    refused = api_a.post("/v1/tasks", f'{{"name": "demo.echo", "payload": {text}}}')
    (field,) = faults(refused)
    assert field.startswith("payload")
    assert api_a.get("/v1/tasks").json()["tasks"] == []


@pytest.mark.parametrize("character", [r"\ud800", r"\u0000"])
@pytest.mark.parametrize("field", ["name", "queue", "due_at", "tenant", "nonsense"])
def test_such_characters_are_refused_in_every_field(api_a: Api, field: str, character: str) -> None:
    text = json.dumps({"name": "demo.echo", field: "?"}).replace("?", character)
    assert api_a.post("/v1/tasks", text).status_code in (400, 403)


def test_the_deepest_payload_is_taken(api_a: Api) -> None:
    assert nested(api_a, payload.MAX_DEPTH - 1).status_code == 201


@pytest.mark.parametrize("levels", [payload.MAX_DEPTH, 100, 990, 3_000, 100_000, 500_000])
def test_a_deeper_one_is_refused_whatever_its_depth(api_a: Api, levels: int) -> None:
    (fault,) = faults(nested(api_a, levels)).values()
    assert "nested deeper" in fault


def nested(api: Api, levels: int) -> Response:
    """Enqueue a payload that holds so many lists in each other."""
    value = "[" * levels + "]" * levels
    return api.post("/v1/tasks", f'{{"name": "demo.echo", "payload": {{"value": {value}}}}}')


class NeverRead(io.RawIOBase):
    def read(self, size: int = -1) -> bytes:
        raise AssertionError("The body was read.")


class Endless(io.RawIOBase):
    was_read = 0

    def read(self, size: int = -1) -> bytes:
        assert size >= 0
        self.was_read += size
        return b"x" * size


class Broken(io.RawIOBase):
    def read(self, size: int = -1) -> bytes:
        raise RuntimeError("Invalid chunk size")


def incoming(stream: object, **environ: str) -> HttpRequest:
    """A request whose body the server hands over as that stream."""
    request = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/v1/tasks",
        "CONTENT_TYPE": JSON,
        "wsgi.input": stream,
        **environ,
    }
    return WSGIRequest(request)


def chunked(stream: object) -> HttpRequest:
    """As gunicorn hands it over: it knows where the last chunk ends, and gives no length."""
    request = incoming(stream, HTTP_TRANSFER_ENCODING="chunked")
    request.META["wsgi.input_terminated"] = True
    return request


def refusal(request: HttpRequest) -> str:
    with pytest.raises(Refused) as refused:
        body.read(request)
    return refused.value.problem.kind.slug
