"""Owns whose tasks a request is about: a tenant's token speaks for itself, an operator's for whom it names."""

from scheduling.errors import InvalidTask
from tenants.authentication import Caller
from tenants.models import Tenant
from tenants.permissions import WrongTenant


def tenant_meant(caller: Caller, slug: object) -> Tenant | None:
    """The tenant that the request is about, None for an operator who names none: all of them.

    Raises WrongTenant when a tenant names another, InvalidTask when an operator names one that is unknown.
    """
    if caller.tenant is not None:
        if slug not in (None, caller.tenant.slug):
            raise WrongTenant
        return caller.tenant
    if slug is None:
        return None
    tenant = Tenant.objects.filter(slug=slug).first() if isinstance(slug, str) else None
    if tenant is None:
        raise InvalidTask({"tenant": f"is {slug!r}, and there is no such tenant"})
    return tenant


def owner_meant(caller: Caller, slug: object) -> Tenant:
    """The tenant that is to own a new task. Raises InvalidTask too when an operator names none."""
    owner = tenant_meant(caller, slug)
    if owner is None:
        raise InvalidTask({"tenant": "is missing: an operator's token must say whose task it is"})
    return owner
