"""Owns `/healthz` and `/readyz`: whether this process lives, and whether it can do its work. No token needed."""

from django.db import Error
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import tables
from scheduling.api.leaving import is_leaving
from scheduling.api.v1.base import JsonView
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.problems import Refused
from scheduling.ledger import storage
from scheduling.ledger.moving import seal


class NotReady(Exception):
    """Says what is amiss, in a sentence."""


class HealthView(JsonView):
    """The process takes requests. Asks nothing of the database, whose trouble no restart would mend."""

    def get(self, request: Request) -> Response:
        return Response({"status": "alive"})


class ReadyView(JsonView):
    """The ledger answers and takes writes, its tables are up to date, its disk has room, and this process stays."""

    def get(self, request: Request) -> Response:
        figures = storage.sizes()
        try:
            require_staying(request)
            require_room(figures["free_bytes"])
            require_ledger()
        except NotReady as state:
            raise Refused(Kind.UNAVAILABLE, str(state), **figures) from state
        return Response({"status": "ready", **figures})


def require_staying(request: Request) -> None:
    if is_leaving(request.META):
        raise NotReady("This server is being stopped. Send requests to another one.")


def require_room(free_bytes: int) -> None:
    if free_bytes < storage.least_free_bytes():
        raise NotReady(f"The disk is nearly full: {free_bytes} bytes are free.")


def require_ledger() -> None:
    try:
        tables.require_fit_once()
        is_sealed = seal.sealed() is not None
    except tables.TablesDiffer as error:
        raise NotReady(str(error)) from error
    except Error as error:
        raise NotReady("The database does not answer.") from error
    if is_sealed:  # where it moves to is not for everybody to know
        raise NotReady("The ledger takes no writes, because it moves. The log says where to.")
