"""Owns how the console's sessions are stored: under a digest of their key, as tokens are.

Django stores the key itself, which is all that a browser shows: who reads a dump of the database could
go on as whoever was signed in. Named by SESSION_ENGINE.
"""

import hashlib
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import SessionBase

from scheduling import clock

DIGITS = 40
"""Of the digest, 160 bits: as many as the column takes."""


def digest_of(session_key: str) -> str:
    return hashlib.sha256(session_key.encode()).hexdigest()[:DIGITS]


class SessionStore(db.SessionStore):
    """Django's, but for the key that the rows are stored under."""

    # These wrap the methods below; Django's own for the database would use the key itself.
    aload = SessionBase.aload
    asave = SessionBase.asave
    acreate = SessionBase.acreate
    aexists = SessionBase.aexists
    adelete = SessionBase.adelete

    def load(self) -> dict[str, Any]:
        """What was stored, if the browser's key opens anything; otherwise the key is dropped, as Django does."""
        digest = digest_of(self.session_key or "")
        row = self.model.objects.filter(session_key=digest, expire_date__gt=clock.now()).first()
        if row is None:
            self._session_key = None
            return {}
        return self.decode(row.session_data)

    def exists(self, session_key: str) -> bool:
        return super().exists(digest_of(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = super().create_model_instance(data)
        row.session_key = digest_of(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(digest_of(key))
