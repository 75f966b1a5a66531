"""Connection poolers in transaction mode, such as PgBouncer (ADR 57)."""

from __future__ import annotations

from urllib.parse import urlsplit

from write_side.domain.refusals import ExplainedError


def host_of(url: str) -> str:
    """The host and the port of a URL, without the role and the password."""
    return urlsplit(url).netloc.rpartition("@")[2]


class PoolerUrl(str):
    """Leads to a pooler: each transaction may get another session, and a statement alone is a
    transaction.

    What needs a session for longer takes a plain URL: LISTEN, session locks, temporary tables,
    settings of a connection.
    """

    __slots__ = ()


class UnexpectedPooler(ExplainedError):
    """A pooler responds where PostgreSQL itself is needed; the text says what to set."""

    def __init__(self, url: str | None) -> None:
        super().__init__(
            f"a connection pooler responds at '{host_of(url or '')}': "
            "set CONTENTLOG_EVENT_STORE_URL and CONTENTLOG_READ_MODEL_URL to PostgreSQL itself, "
            "and CONTENTLOG_EVENT_STORE_POOL_URL and CONTENTLOG_READ_MODEL_POOL_URL to the pooler, "
            "in transaction mode"
        )
