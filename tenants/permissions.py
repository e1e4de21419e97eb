"""Owns what a caller's token may be used for."""

from collections.abc import Mapping
from typing import Protocol, cast

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from tenants.authentication import Caller
from tenants.models import Scope


class Scoped(Protocol):
    """A view that says which scope each of its methods needs."""

    scopes: Mapping[str, Scope]


class MissingScope(PermissionDenied):
    """The token is good, and not for this."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        super().__init__(f"This needs a token with the scope `{scope}` ({scope.label}).")


class WrongTenant(PermissionDenied):
    """A tenant's token named another tenant. Whether there is one of that name is not looked up."""

    def __init__(self) -> None:
        super().__init__("This token acts for its own tenant only.")


class HasScope(BasePermission):
    """Lets in who is authenticated and holds the scope that the view asks for this method."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        caller: object = request.user
        if not isinstance(caller, Caller):
            return False
        method = "GET" if request.method == "HEAD" else request.method
        scope = cast("Scoped", view).scopes.get(method or "")
        if scope is not None and scope not in caller.scopes:
            raise MissingScope(scope)
        return True
