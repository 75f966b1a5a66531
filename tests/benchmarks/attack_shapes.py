"""The requests that the attacks send, and the entries that some of them need."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from write_side.domain.definition import Field, Option

MB = 1_000_000
VIEW = "a-secret-of-mallory-to-view"
EDIT = "a-secret-of-mallory-to-edit"
FIELDS = (
    Field("body", "Body", "rich_text"),
    Field("meta", "Meta", "json"),
    Field("tags", "Tags", "select", multiple=True, options=(Option("a", "A"),)),
    Field("media", "Media", "media", multiple=True),
    Field("live", "Live", "datetime"),
    Field(
        "rows",
        "Rows",
        "repeater",
        fields=(Field("a", "A", "text"), Field("b", "B", "rich_text"), Field("c", "C", "json")),
    ),
)


class Shape(Struct, frozen=True):
    """An attacking request.

    Each of the ``headers`` ends with CRLF. ``pause`` is the seconds between pieces of a slow body,
    ``silent`` the number of idle connections opened first, and ``at_once`` the number of copies
    sent in parallel.
    """

    name: str
    path: str
    body: bytes | None = None
    headers: str = ""
    pause: float = 0.0
    silent: int = 0
    at_once: int = 4

    def request(self) -> bytes:
        method = "GET" if self.body is None else "POST"
        head = f"{method} {self.path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n"
        length = f"Content-Length: {len(self.body or b'')}\r\n\r\n"
        return f"{head}{self.headers}{length}".encode() + (self.body or b"")


def stored_values() -> dict[str, dict[str, Raw]]:
    """The field values of the attacker's entries, by slug."""
    return {
        "open-tags": {"rows": _json([{"b": "<b>" + "<a " * 7_000}])},
        "open-tags-long": {"body": _json("<b>" + "<a " * 600_000)},
        "nested-tags": {"body": _json("<b>" * 600_000)},
        "comments": {"body": _json("<b>" + "<!--" * 400_000)},
        "entities": {"body": _json("<b>" + "&" * MB + "&lt;" * 200_000)},
        "many-markups": {"rows": _json([{"b": "<b>" + "<a " * 60}] * 5_000)},
        "many-elements": {"rows": Raw(b"[" + b"{}," * 4_999 + b"{}]")},
        "many-values": {"rows": _json([{"a": "x", "b": "<i>y", "c": 1}] * 5_000)},
        "wide-json": {"meta": Raw(b"[" + b"{}," * 650_000 + b"{}]")},
        "deep-json": {"meta": Raw(b"[" * 250 + b"1" + b"]" * 250)},
        "long-text": {"body": _json("word " * 400_000)},
        "long-title": {"body": _json("x")},
        "many-choices": {"tags": Raw(b"[" + b'"a",' * 4_999 + b'"a"]')},
        "many-media": {"media": Raw(b"[" + b'"m",' * 4_999 + b'"m"]')},
    }


def pages(ids: dict[str, str], cookie: str) -> Iterator[Shape]:
    """Requests for these entries' dashboard pages. ``ids`` maps slugs to entry ids."""
    for slug, entry_id in ids.items():
        yield Shape(f"page: {slug}", f"/dashboard/entries/{entry_id}", None, cookie)


def gzipped(body: bytes, key: str) -> tuple[bytes, str]:
    return gzip.compress(body, 9), gzip_head(key)


def gzip_head(key: str) -> str:
    return bearer(key) + "Content-Encoding: gzip\r\n"


def bearer(key: str) -> str:
    return f"Authorization: Bearer {key}\r\n"


def _json(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


def secret_hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
