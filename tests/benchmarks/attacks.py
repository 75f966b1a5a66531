"""Requests that cost far more than their size suggests: deep, wide, long, numerous or slow ones."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from urllib.parse import quote

from msgspec.structs import replace

from api.dashboard.security import new_csrf_token
from tests.benchmarks.attack_shapes import EDIT, MB, VIEW, Shape, bearer, gzip_head, gzipped
from tests.benchmarks.graphql_attacks import documents, variables
from tests.workbooks import HEADINGS, workbook


def requests(cookie: str) -> Iterator[Shape]:
    yield from variables()
    yield from documents()
    yield from _json_bodies()
    yield from _forms(cookie)
    yield from _heads(cookie)
    yield from _workbooks(cookie)
    yield from _many()
    yield Shape("4 × 275 silent connections", "/healthz", silent=275)


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
        yield Shape(f"REST: {name}", "/v1/content", body, bearer(EDIT))
    spaces = b'{"contentTypeSlug":"posts"' + b" " * 3_900_000 + b',"title":"x"}'
    yield Shape("REST: 3.9 MB of white space, gzip", "/v1/content", *gzipped(spaces, EDIT))
    bomb = gzip.compress(bytes(200 * MB), 9)
    yield Shape("REST: 200 MB in 200 kB of gzip", "/v1/content", bomb, gzip_head(EDIT))
    members_ = gzip.compress(b"") * 200_000
    yield Shape("REST: 200,000 members of gzip", "/v1/content", members_, gzip_head(EDIT))
    yield Shape("REST: a slow body", "/v1/content", b" " * 40, bearer(EDIT), pause=0.05)


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
        yield Shape(f"query string: {name}", f"{list_}?{query}", None, bearer(VIEW))
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
        yield Shape(f"header: {name}", list_, None, f"{bearer(VIEW)}{name}: {value}\r\n")
    search = quote("%_" * 100)
    yield Shape("a search for wildcards", f"/dashboard/entries?search={search}", None, cookie)


def _many() -> Iterator[Shape]:
    """The longest requests that take turns on the event loop, 50 at a time."""
    chosen = ("GraphQL document: 160 fragments of pages", "REST: 2 MB of text, allowed")
    for shape in (*documents(), *_json_bodies()):
        if shape.name in chosen:
            yield replace(shape, name=f"50 at once: {shape.name}", at_once=50)


def _workbooks(cookie: str) -> Iterator[Shape]:
    """Workbooks with about 16 MB of XML each, the most that is accepted at any compression
    ratio."""
    token = new_csrf_token(cookie.partition("=")[2].strip())
    headers = f"Sec-Fetch-Site: same-origin\r\n{cookie}"
    headers += "Content-Type: multipart/form-data; boundary=b\r\n"
    sheets = {
        "elements": "<a/>" * 3_900_000,
        "cells": "<row>" + "<c/>" * 3_900_000 + "</row>",
        "rows": "<row/>" * 2_600_000,
    }
    for name, rows in sheets.items():
        document = workbook(HEADINGS + rows)
        part = b'--b\r\nContent-Disposition: form-data; name="%b"'
        body = part % b"csrf" + b"\r\n\r\n" + token.encode() + b"\r\n"
        body += part % b"type" + b"\r\n\r\nposts\r\n"
        body += part % b"file" + b'; filename="a.xlsx"\r\n\r\n' + document + b"\r\n--b--\r\n"
        size = f"{len(document) // 1000} kB"
        yield Shape(f"workbook: {size} of {name}", "/dashboard/imports", body, headers)
