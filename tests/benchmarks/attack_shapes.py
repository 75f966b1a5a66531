"""Requests meant to cost much more than they weigh: deep, wide, long, many and slow ones."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from api.dashboard.security import new_csrf_token
from tests.workbooks import HEADINGS, workbook
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
    """``headers`` end with CRLF each. ``pause``: seconds between pieces of a slow body;
    ``silent``: connections that are opened first, and say nothing; ``at_once``: copies that are
    sent at the same time."""

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
    """Entries of the attacker's, by slug: what their fields hold."""
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
    """Views of those entries in the dashboard. ``ids`` by slug."""
    for slug, entry_id in ids.items():
        yield Shape(f"page: {slug}", f"/dashboard/entries/{entry_id}", None, cookie)


def requests(cookie: str) -> Iterator[Shape]:
    yield from _graphql_variables()
    yield from _graphql_documents()
    yield from _json_bodies()
    yield from _forms(cookie)
    yield from _heads(cookie)
    yield from _workbooks(cookie)
    yield from _many()
    yield Shape("4 × 275 silent connections", "/healthz", silent=275)


def _graphql_variables() -> Iterator[Shape]:
    create = (
        "mutation($t: [TranslationInput!]) { createContentEntry(input: {contentTypeSlug: "
        '"posts", title: "x", translations: $t}) { success message } }'
    )
    locales = b'{"t":[' + b'{"locale":"a"},' * 274_999 + b'{"locale":"a"}]}'
    for name, key in (("view", VIEW), ("edit", EDIT)):
        yield _query(f"variables: 275,000 objects, gzip ({name} key)", create, locales, key, True)
    yield _query("variables: 1,300,000 nulls", create, b'{"t":[' + b"0," * 1_300_000 + b"0]}", VIEW)
    fields = "mutation($f: JSON) { createContentEntry(input: {contentTypeSlug: "
    fields += '"posts", title: "x", fields: $f}) { success message } }'
    wide = b'{"f":{"meta":[' + b"{}," * 1_200_000 + b"{}]}}"
    yield _query("variables: wide JSON value, gzip", fields, wide, EDIT, True)
    deep = b'{"f":' + b"[" * 1_900_000 + b"]" * 1_900_000 + b"}"
    yield _query("variables: 1,900,000 levels, gzip", fields, deep, VIEW, True)
    many = b"{" + b",".join(b'"v%d":1' % n for n in range(300_000)) + b"}"
    yield _query("variables: 300,000 names, gzip", fields, many, VIEW, True)
    number = b'{"t":' + b"9" * 3_900_000 + b"}"
    yield _query("variables: a number of 3.9 MB", "query($t: Int) { a: __typename }", number, VIEW)
    string = b'{"t":"' + b"\\u0041" * 600_000 + b'"}'
    by_slug = 'query($t: String!) { contentEntry(type: "posts", slug: $t) { id } }'
    yield _query("variables: a slug of 600,000 escapes", by_slug, string, VIEW)


def _graphql_documents() -> Iterator[Shape]:
    def fragments(number: int, spread: str) -> str:
        made = " ".join(f"fragment f{n} on Query {{ {spread} }}" for n in range(number))
        return "{ " + " ".join(f"...f{n}" for n in range(number)) + " } " + made

    typed = "contentTypes { name }"
    entry = "contentEntries(limit: 1) { data { id } }"
    documents = {
        "480 fragments": fragments(480, "__typename"),
        "240 fragments that overlap": fragments(240, typed),
        "160 fragments of pages": fragments(160, entry),
        "100 aliases of pages": "{" + "".join(f"a{n}: {entry} " for n in range(100)) + "}",
        "490 equal fields": "{" + "__typename " * 490 + "}",
        "240 equal pages": "{" + "contentTypes { name } " * 240 + "}",
        "60 spreads of 60": "{"
        + "...A " * 60
        + "} fragment A on Query {"
        + "__typename " * 60
        + "}",
        "4,900 tokens of a list": '{ contentEntries(type: "'
        + "x"
        + '") { data { id references(field: "a") { id } } } }'
        + " query($x: [Int!] = ["
        + "1 " * 4_800
        + "]) { contentTypes { name } }",
        "200 kB of comments": "#" + "x" * 199_000 + "\n{ contentTypes { name } }",
        "200 kB of white space": "{ contentTypes { name } }" + " \n" * 99_000,
        "a string of 199 kB": '{ contentType(slug: "' + "\\u0041" * 33_000 + '") { name } }',
        "2,400 unknown fields": "{" + "x " * 2_400 + "}",
        "490 unknown fields": "{" + " ".join(f"x{n}" for n in range(490)) + "}",
        "120 unknown arguments": "{ contentTypes("
        + " ".join(f"x{n}: 1" for n in range(1_200))
        + ") { name } }",
        "1,200 variables": "query("
        + " ".join(f"$v{n}: Int" for n in range(1_200))
        + ") { contentTypes { name } }",
        "2,400 nested lists": "{ contentEntry(type: " + "[" * 2_400 + "]" * 2_400 + ") { id } }",
        "nested selections": "{ a" * 1_600 + "}" * 1_600,
        "400 operations": " ".join(f"query q{n} {{ contentTypes {{ name }} }}" for n in range(240)),
        "1,200 directives": "{ contentTypes " + "@include(if: true) " * 700 + "{ name } }",
        "5 introspections": "{" + "".join(f"a{n}: {_SCHEMA}" for n in range(5)) + "}",
        "a page of 100 of 100 changes": "{ contentEntries(limit: 100) { data { id fields title slug"
        " contentType { name fields { slug name } } } } }",
        "90 mutations": "mutation {"
        + "".join(f'm{n}: deleteContentEntry(id: "x") {{ success }} ' for n in range(90))
        + "}",
    }
    for name, document in documents.items():
        yield _query(f"document: {name}", document, b"{}", VIEW)


_SCHEMA = "__schema { types { name fields { name args { name type { name } } type { name } } } } "


def _json_bodies() -> Iterator[Shape]:
    bodies = {
        "1,300,000 objects in a field": b'"fields":{"meta":[' + b"{}," * 1_300_000 + b"{}]}",
        "650,000 elements": b'"fields":{"rows":[' + b"{}," * 650_000 + b"{}]}",
        "60,000 full elements": b'"fields":{"rows":['
        + b",".join([b'{"a":"x","b":"<i>y","c":1}'] * 60_000)
        + b"]}",
        "2,000,000 numbers": b'"fields":{"meta":[' + b"1," * 1_950_000 + b"1]}",
        "1,300,000 strings": b'"fields":{"meta":[' + b'"",' * 1_300_000 + b'""]}',
        "300,000 members": b'"fields":{' + b",".join(b'"k%d":1' % n for n in range(300_000)) + b"}",
        "2,000,000 levels": b'"fields":{"meta":' + b"[" * 1_900_000 + b"]" * 1_900_000 + b"}",
        "4 MB of brackets in a text": b'"fields":{"body":"' + b"[" * 3_900_000 + b'"}',
        "650,000 escapes": b'"fields":{"body":"' + b"\\u0041" * 650_000 + b'"}',
        "1,900,000 quotes": b'"fields":{"body":"' + b'\\"' * 1_900_000 + b'"}',
        "650,000 pairs of surrogates": b'"fields":{"body":"' + b"\\ud83d\\ude00" * 320_000 + b'"}',
        "a title of 3.9 MB": b'"fields":{},"title":"' + b"-" * 3_900_000 + b'"',
        "500,000 choices": b'"fields":{"tags":[' + b'"a",' * 500_000 + b'"a"]}',
        "500,000 media": b'"fields":{"media":[' + b'"m",' * 500_000 + b'"m"]}',
        "a date of 3.9 MB": b'"fields":{"live":"' + b"2" * 3_900_000 + b'"}',
        "2 MB of text, allowed": b'"fields":{"body":"' + b"word " * 400_000 + b'"}',
    }
    for name, members in bodies.items():
        body = b'{"contentTypeSlug":"posts","title":"x",' + members + b"}"
        yield Shape(f"REST: {name}", "/v1/content", body, _bearer(EDIT))
    spaces = b'{"contentTypeSlug":"posts"' + b" " * 3_900_000 + b',"title":"x"}'
    yield Shape("REST: 3.9 MB of white space, gzip", "/v1/content", *_gzipped(spaces, EDIT))
    bomb = gzip.compress(bytes(200 * MB), 9)
    yield Shape("REST: 200 MB in 200 kB of gzip", "/v1/content", bomb, _gzip_head(EDIT))
    members_ = gzip.compress(b"") * 200_000
    yield Shape("REST: 200,000 members of gzip", "/v1/content", members_, _gzip_head(EDIT))
    yield Shape("REST: a slow body", "/v1/content", b" " * 40, _bearer(EDIT), pause=0.05)


def _forms(cookie: str) -> Iterator[Shape]:
    same = "Sec-Fetch-Site: same-origin\r\n"
    form = same + "Content-Type: application/x-www-form-urlencoded\r\n"
    bodies = {
        "4 MB of percent escapes": b"key=" + b"%41" * 1_300_000,
        "4 MB of ampersands": b"&" * 3_900_000,
        "4,999 fields": b"&".join(b"k%d=v" % n for n in range(4_999)),
        "4 MB of a key": b"key=" + b"x" * 3_900_000,
        "4 MB of damaged escapes": b"key=" + b"%zz%" * 950_000,
    }
    for number, (name, body) in enumerate(bodies.items()):
        address = f"X-Forwarded-For: 10.0.1.{number}\r\n"
        yield Shape(f"sign-in: {name}", "/dashboard/sign-in", body, form + address)
        yield Shape(f"form: {name}", "/dashboard/sign-out", body, form + cookie)
    multipart = same + cookie + "Content-Type: multipart/form-data; boundary=b\r\n"
    part = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n'
    heads = b"--b\r\n" + b"X: y\r\n" * 500_000 + b"\r\n1\r\n--b--\r\n"
    parts = {
        "50,000 parts": part * 50_000,
        "500,000 headers of a part": heads,
        "a header of 3 MB": b"--b\r\nX: " + b"y" * 3 * MB + b"\r\n\r\n1\r\n--b--\r\n",
        "a token, then 3 MB of line ends": (
            b'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n' + b"\r\n" * 1_500_000
        ),
        "3 MB of line ends": b"\r\n" * 1_500_000,
        "3 MB before the boundary": b"x" * 3 * MB,
    }
    for name, body in parts.items():
        yield Shape(f"multipart: {name}", "/dashboard/imports", body, multipart)


def _heads(cookie: str) -> Iterator[Shape]:
    list_ = "/v1/content/none"
    queries = {
        "2,600 parameters": "&".join(["a=1"] * 1_900),
        "7 kB of escapes": "status=" + "%41" * 2_500,
        "7 kB of digits": "limit=" + "9" * 7_000,
        "7 kB of a time": "asOf=" + "2" * 7_000,
    }
    for name, query in queries.items():
        yield Shape(f"query string: {name}", f"{list_}?{query}", None, _bearer(VIEW))
    headers = {
        "X-Forwarded-For": ",".join(["1.1.1.1"] * 900),
        "Accept-Encoding": ",".join(f"a{n};q=0.1" for n in range(600)),
        "If-None-Match": ",".join(['"x"'] * 1_900),
        "Cookie": ";".join(f"a{n}=b" for n in range(900)),
        "X-Content-Position": "A" * 7_000,
        "Idempotency-Key": "A" * 7_000,
        "Referer": "http://[" + "a" * 7_000,
    }
    for name, value in headers.items():
        yield Shape(f"header: {name}", list_, None, f"{_bearer(VIEW)}{name}: {value}\r\n")
    search = quote("%_" * 100)
    yield Shape("a search for wildcards", f"/dashboard/entries?search={search}", None, cookie)


def _many() -> Iterator[Shape]:
    """The longest of those that take turns."""
    chosen = ("GraphQL document: 160 fragments of pages", "REST: 2 MB of text, allowed")
    for shape in (*_graphql_documents(), *_json_bodies()):
        if shape.name in chosen:
            yield replace(shape, name=f"50 at once: {shape.name}", at_once=50)


def _workbooks(cookie: str) -> Iterator[Shape]:
    """16 MB of XML each, which is as much as may be compressed without bound."""
    token = new_csrf_token(cookie.partition("=")[2].strip())
    headers = f"Sec-Fetch-Site: same-origin\r\nX-CSRF-Token: {token}\r\n{cookie}"
    headers += "Content-Type: multipart/form-data; boundary=b\r\n"
    sheets = {
        "elements": "<a/>" * 3_900_000,
        "cells": "<row>" + "<c/>" * 3_900_000 + "</row>",
        "rows": "<row/>" * 2_600_000,
    }
    for name, rows in sheets.items():
        document = workbook(HEADINGS + rows)
        part = b'--b\r\nContent-Disposition: form-data; name="%b"'
        body = part % b"type" + b"\r\n\r\nposts\r\n"
        body += part % b"file" + b'; filename="a.xlsx"\r\n\r\n' + document + b"\r\n--b--\r\n"
        size = f"{len(document) // 1000} kB"
        yield Shape(f"workbook: {size} of {name}", "/dashboard/imports", body, headers)


def _query(name: str, document: str, variables: bytes, key: str, packed: bool = False) -> Shape:
    body = b'{"query":' + msgspec.json.encode(document) + b',"variables":' + variables + b"}"
    sent, headers = _gzipped(body, key) if packed else (body, _bearer(key))
    return Shape(f"GraphQL {name}", "/graphql", sent, headers)


def _gzipped(body: bytes, key: str) -> tuple[bytes, str]:
    return gzip.compress(body, 9), _gzip_head(key)


def _gzip_head(key: str) -> str:
    return _bearer(key) + "Content-Encoding: gzip\r\n"


def _bearer(key: str) -> str:
    return f"Authorization: Bearer {key}\r\n"


def _json(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


def secret_hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
