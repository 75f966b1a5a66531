"""The library's own PostgreSQL persistence on one of our databases, with its safe defaults."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore

POOL = {"pool_size": 20, "max_overflow": 60}


def library_recorder(url: str) -> PostgresApplicationRecorder:
    """The library's recorder with its defaults, except for text ids and a pool for 64 writers."""
    store = PostgresDatastore(**_address(url), **POOL, originator_id_type="text")  # type: ignore[arg-type]
    recorder = PostgresApplicationRecorder(store, events_table_name="stored_events")
    recorder.create_table()
    return recorder


def library_environment(url: str) -> dict[str, str]:
    """The environment for the library's applications and projections."""
    address = _address(url)
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        **{f"POSTGRES_{name.upper()}": value for name, value in address.items()},
    }


def _address(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return {
        "dbname": parts.path.lstrip("/"),
        "host": query.get("host") or unquote(parts.hostname or ""),
        "port": query.get("port") or str(parts.port or 5432),
        "user": query.get("user") or unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
    }
