"""Signatures by which a receiver knows a request is from here: Standard Webhooks 1.0, symmetric.

Each tenant has a secret of its own, derived from the installation's, so that a receiver of one tenant's
requests cannot forge another's. `manage.py webhooksecret TENANT` prints it.
"""

import base64
import hashlib
import hmac

from django.utils.crypto import salted_hmac

from scheduling.conf import conf

PREFIX = "whsec_"


def secret_of(tenant: str) -> str:
    """The tenant's secret, from its slug. It changes with WEBHOOK_SECRET, or with SECRET_KEY where that is empty."""
    derived = salted_hmac(
        "rentroll.webhooks", tenant, secret=conf().WEBHOOK_SECRET or None, algorithm="sha256"
    )
    return PREFIX + base64.b64encode(derived.digest()).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`. The timestamp is in Unix seconds."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
