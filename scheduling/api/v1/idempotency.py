"""Owns the Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header).

A key belongs to one tenant and is kept as long as its task: the same request again gets the same task. What makes no
task of its own keeps no key; one that is sent there is refused, for a client that sends it relies on it.
"""

import re
from collections.abc import Mapping
from typing import Any

from scheduling.errors import InvalidTask

MAX_LENGTH = 255
FOR_METHODS = frozenset({"POST", "PATCH"})
"""Those that HTTP does not itself promise to be safe to repeat."""
_QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')  # a structured-field string, RFC 9651 §3.3.3
_BARE = re.compile(r"[!#-~][ -~]*")


def key_from(header: str | None) -> str | None:
    """The key, quoted or bare, None without the header. Raises InvalidTask for one that cannot be."""
    if header is None:
        return None
    if quoted := _QUOTED.fullmatch(header.strip()):
        key = re.sub(r"\\(.)", r"\1", quoted[1])
    elif bare := _BARE.fullmatch(header.strip()):
        key = bare[0]
    else:
        key = ""
    if not 1 <= len(key) <= MAX_LENGTH:
        raise InvalidTask(
            {
                "idempotency_key": f"The Idempotency-Key must be 1 to {MAX_LENGTH} printable ASCII "
                'characters, as "quoted" text or bare.'
            }
        )
    return key


def require_none(sent: Mapping[str, Any], why: str) -> None:
    """Raises InvalidTask for a key where none is heeded."""
    if "HTTP_IDEMPOTENCY_KEY" in sent:
        raise InvalidTask(
            {"idempotency_key": f"The Idempotency-Key header is not heeded here: {why}."}
        )
