"""Hypothesis strategies for invalid HTTP requests and JSON bodies."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from urllib.parse import quote

from hypothesis import strategies as st
from msgspec import Struct

KEY = b"Bearer secret-of-acme"
WILD = st.text() | st.text(st.characters(min_codepoint=0, max_codepoint=0x1F), min_size=1)
BYTES = st.binary(max_size=40)
SLUGS = st.sampled_from(["posts", "hello", "a/b", "hidden", "globex", "nothing", ".."])
NAMES = st.sampled_from(
    ["limit", "offset", "status", "language", "locale", "environment", "type", "asOf", "x", ""]
)
TIMES = ["2026-01-31", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
LEGAL = st.sampled_from(
    [
        "1",
        "-1",
        "1e999",
        "9" * 5000,
        "draft",
        "fr-FR",
        "en-US",
        "staging",
        "production",
        "posts",
        *TIMES,
    ]
)
METHODS = st.sampled_from(
    [b"GET"] * 4 + [b"POST"] * 4 + [b"HEAD", b"OPTIONS", b"DELETE", b"PRI", b"get", b""]
)
VERSIONS = st.sampled_from(
    [b"HTTP/1.1"] * 15 + [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"HTTP/", b""]
)
ENDS = st.sampled_from([b"\r\n"] * 15 + [b"\n", b"\r", b"\r\n\r\n", b""])
# Headers that HTTP parsers are known to interpret differently.
SMUGGLED = st.sampled_from(
    [
        b"Content-Length: 5",
        b"Content-Length: +5",
        b"Content-Length: 5, 5",
        b"Content-Length: -1",
        b"Content-Length: 0x5",
        b"Content-Length: 99999999999999999999",
        b"Content-Length : 5",
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding: chunked, identity",
        b"Transfer-Encoding:\x0bchunked",
        b"Transfer-Encoding: gzip, chunked",
        b" Transfer-Encoding: chunked",
        b"Content-Encoding: gzip",
        b"Content-Encoding: deflate",
        b"Content-Encoding: br",
        b"Expect: 100-continue",
        b"Expect: 200-ok",
        b"Upgrade: websocket\r\nConnection: Upgrade",
        b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings",
        b"Connection: keep-alive",
        b"Host: globex",
        b"X-Forwarded-For: 1.2.3.4",
        b"X-HTTP-Method-Override: DELETE",
        b"Range: bytes=0-1",
        b"If-None-Match: *",
        b"Trailer: Authorization",
        b"\x00: \x00",
        b"no colon",
        b": no name",
        b"X-Long: " + b"x" * 9000,
        b"Cookie: " + b"a=b; " * 500,
    ]
)
OWN_NAMES = st.sampled_from(
    [
        b"Authorization",
        b"X-API-Key",
        b"X-Environment",
        b"X-Request-Id",
        b"X-Content-Position",
        b"Idempotency-Key",
        b"If-None-Match",
        b"Accept-Encoding",
        b"Content-Type",
    ]
)
CHUNKS = st.sampled_from(
    [
        b'5\r\n{"a":\r\n',
        b"0\r\n\r\n",
        b"zz\r\n",
        b"-1\r\n",
        b"ffffffffffffffffff\r\n",
        b"5;x=\x00\r\n",
    ]
)
LITERALS = st.sampled_from(
    [
        "null",
        "true",
        "1e999",
        "-0",
        "1" * 400,
        "0.1e-400",
        "NaN",
        "01",
        "",
        '"\\u0000"',
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '"\ufeff"',
        '"posts"',
        '"hello"',
        '"x"',
        "[" * 300 + "]" * 300,
    ]
)


class Sent(Struct, frozen=True):
    """The bytes sent on one connection."""

    raw: bytes

    @property
    def asks_for_no_body(self) -> bool:
        return self.raw.startswith(b"HEAD ")


def query_string(pairs: Iterable[tuple[str, str]]) -> str:
    """A percent-encoded query string, which may contain lone surrogates."""
    return "&".join(
        "=".join(quote(part, errors="surrogatepass") for part in pair) for pair in pairs
    )


def path(parts: Iterable[str]) -> str:
    """Percent-encodes dots too, because clients remove dot segments from a path."""
    quoted = (quote(part, safe="", errors="surrogatepass").replace(".", "%2E") for part in parts)
    return "/".join(("/v1/content", *quoted))


QUERIES = st.lists(st.tuples(NAMES, WILD | LEGAL), max_size=4).map(query_string)
PATHS = st.lists(SLUGS | WILD, max_size=3).map(path)
TARGETS = st.one_of(
    st.just(b"/v1/content"),
    st.builds(lambda path, query: f"{path}?{query}".encode(), PATHS, QUERIES),
    st.builds(lambda path, wild: path.encode() + wild, PATHS, BYTES),
    st.sampled_from(
        [b"*", b"", b"//x", b"http://globex/v1/content", b"globex:80", b"/v1/../x", b"/%"]
    ),
)
VISIBLE = st.lists(st.integers(0x20, 0xFF).filter(lambda byte: byte != 0x7F), max_size=300).map(
    bytes
)
TOKENS = st.binary(min_size=16, max_size=220).map(urlsafe_b64encode)
HEADERS = st.lists(
    st.one_of(
        SMUGGLED,
        st.builds(lambda name, wild: name + b": " + wild, OWN_NAMES, VISIBLE | VISIBLE | BYTES),
        TOKENS.map(lambda token: b"X-Content-Position: " + token),
        st.builds(lambda wild: b"X-" + wild, BYTES),
    ),
    max_size=2,
)


def _members(pairs: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    names = st.sampled_from(["body", "views", "related", "", "\\ud800", "a\\u0000"])
    return st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[" + ",".join(items) + "]"),
        st.lists(st.tuples(names, inner), max_size=3).map(_members),
    )


VALUES = st.recursive(LITERALS, _nested, max_leaves=6)
_PROPERTIES = st.sampled_from(["contentTypeSlug", "title", "slug", "fields", "title", "x"])
_CHARSETS = st.sampled_from(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-32", "latin-1"])


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """An almost valid create request, almost valid JSON, or arbitrary bytes. Names may repeat and
    any charset may be used."""
    if draw(st.integers(0, 9)) == 0:
        return draw(BYTES)
    pairs = draw(st.lists(st.tuples(_PROPERTIES, VALUES), max_size=4))
    if draw(st.booleans()):
        pairs = [("contentTypeSlug", '"posts"'), ("title", '"T"'), *pairs]
    return _members(pairs).encode(draw(_CHARSETS), "replace")


@st.composite
def requests(draw: st.DrawFn) -> Sent:
    """Most requests have acme's key and a correct Content-Length. All ask for the connection to be
    closed."""
    body = draw(st.one_of(bodies(), bodies(), st.lists(CHUNKS, max_size=3).map(b"".join), BYTES))
    own = [b"Host: x", b"Connection: close"]
    if draw(st.integers(0, 9)) < 8:
        own.append(b"Authorization: " + KEY)
    if draw(st.integers(0, 9)) < 8:
        own.append(b"Content-Length: %d" % len(body))
    line = b" ".join((draw(METHODS), draw(TARGETS), draw(VERSIONS)))
    lines = [line, *own, *draw(HEADERS)]
    end = draw(ENDS)
    odd = draw(st.integers(0, len(lines) - 1))
    head = b"".join(one + (end if n == odd else b"\r\n") for n, one in enumerate(lines))
    return Sent(head + b"\r\n" + body)
