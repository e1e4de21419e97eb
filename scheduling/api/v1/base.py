"""What every view of the API shares: how answers are negotiated, who may call, for whom the code acts."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar, cast

from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from django.utils import translation
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.permissions import BasePermission
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from scheduling import audit
from scheduling.api.v1 import body, idempotency, problems
from scheduling.errors import InvalidTask
from scheduling.models import OperatorAction
from tenants.authentication import Caller, TokenAuthentication
from tenants.current import acting_for
from tenants.models import Scope
from tenants.permissions import HasScope

USUALLY_ACCEPTED = frozenset({"*/*", "application/json", ""})
"""What nearly every client sends, and needs no parsing."""
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


class JsonOnly(BaseContentNegotiation):
    """There is one renderer, so the question is only whether the client takes what it makes."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        if request.META.get("HTTP_ACCEPT", "*/*") not in USUALLY_ACCEPTED:
            sent = {renderer.media_type, problems.MEDIA_TYPE}
            if not any(accepts(request, media_type) for media_type in sent):
                raise NotAcceptable
        return renderer, renderer.media_type


def accepts(request: Request, media_type: str) -> bool:
    """Whatever parameters it asks for: `application/json;charset=utf-8` is what JSON always is."""
    kind, _, subkind = media_type.partition("/")
    return any(
        accepted.main_type in ("*", kind) and accepted.sub_type in ("*", subkind)
        for accepted in request._request.accepted_types
    )


class Json(JSONRenderer):
    """JSON as it is sent here, whatever the project around us has its own API send."""

    ensure_ascii = False
    compact = True
    strict = True

    def render(self, *args: Any, **kwargs: Any) -> Any:
        """With an end of line, as a terminal has it."""
        text = super().render(*args, **kwargs)
        return text + b"\n" if text else text


class JsonView(APIView):
    """A view that anybody may ask, and that answers in JSON.

    The project around us may have another idea of an API (`REST_FRAMEWORK`): nothing is left to it.
    """

    authentication_classes: Sequence[type[BaseAuthentication]] = ()
    permission_classes: Sequence[type[BasePermission]] = ()
    parser_classes = (JSONParser,)
    renderer_classes: Sequence[type[BaseRenderer]] = (Json,)
    content_negotiation_class = JsonOnly
    throttle_classes = ()
    versioning_class = None

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """In no transaction, if the project has ATOMIC_REQUESTS: verbs have their own, and some requests wait."""
        return transaction.non_atomic_requests(super().as_view(**initkwargs))

    def get_exception_handler(self) -> Callable[..., Response]:
        return problems.handler

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Problems are told in English."""
        with translation.override("en"):
            return super().dispatch(*args, **kwargs)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Say the client's own name for its request, so that both ends can find it in their logs."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        request_id = request.META.get("HTTP_X_REQUEST_ID", "")
        if REQUEST_ID.fullmatch(request_id):
            answer["X-Request-ID"] = request_id
        if request.method == "HEAD":
            answer.add_post_render_callback(leave_out_content)
        return answer

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
        """The methods are in the Allow header of every answer; there is nothing to add."""
        return Response(status=204)


def leave_out_content(answer: Response) -> None:
    """HEAD is answered as GET would be, without what it would say; servers warn of anything more."""
    answer["Content-Length"] = str(len(answer.content))
    answer.content = b""


class ApiView(JsonView):
    """A view that says in `scopes` what a token must allow for each of its methods."""

    scopes: ClassVar[Mapping[str, Scope]] = {}
    queried: ClassVar[Collection[str]] = ("GET",)
    """The methods whose query is read by `query`. That of the others must be empty."""
    keyed: ClassVar[Collection[str]] = ()
    """The methods that heed the Idempotency-Key header."""
    instead_of_a_key: ClassVar[str] = "nothing is kept under it"
    """Why it is of no use with the others, for those who sent one."""
    authentication_classes = (TokenAuthentication,)
    permission_classes = (HasScope,)

    @property
    def caller(self) -> Caller:
        return cast("Caller", self.request.user)

    def json_object(self) -> dict[str, Any]:
        """The body of the request. Raises what `body.json_object` does."""
        return body.json_object(self.request._request)

    def json_object_if_any(self) -> dict[str, Any]:
        """The same, and empty when nothing was sent."""
        return body.json_object(self.request._request, needed=False)

    def query(self) -> dict[str, str]:
        """What the query says. Raises InvalidTask for what it says twice: only one of them could count."""
        said = self.request._request.GET
        twice = [name for name in said if len(said.getlist(name)) > 1]
        if twice:
            raise InvalidTask(dict.fromkeys(twice, "is there more than once"))
        return said.dict()

    def record(self, verb: str, what: str, **told: Any) -> OperatorAction:
        """Put on record what the caller does, as `audit.record`, in the transaction in which it is done."""
        return audit.record(audit.Actor(str(self.caller), audit.Via.API), verb, what, **told)

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with ExitStack() as self.until_answered:
            return super().dispatch(*args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.until_answered.enter_context(acting_for(self.caller.tenant))
        method = "GET" if request.method == "HEAD" else request.method
        if method not in self.queried and (said := self.query()):
            raise InvalidTask(dict.fromkeys(said, "is not read from the query here"))
        if method in idempotency.FOR_METHODS and method not in self.keyed:
            idempotency.require_none(request.META, self.instead_of_a_key)
