"""Which clients accept gzip, and which bodies have different ETags."""

from __future__ import annotations

import zlib

import pytest
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from api.http.compression import THREAD_ABOVE, etag, gzipped
from api.http.representation import LONGEST_ACCEPT, accepted, accepts_gzip, takes_gzip

TAKES = [
    "gzip",
    "GZIP",
    "gzip, deflate, br, zstd",
    "br;q=1.0, gzip;q=0.8, *;q=0.1",
    "deflate,gzip ; q = 0.001",
    "*",
    "x-gzip",
    "identity, gzip",
    "identity;q=0.5, *;q=0.5",
    "gzip;q=1.000",
]
DOES_NOT = [
    "",
    "identity",
    "br",
    "deflate",
    "gzip;q=0",
    "gzip;q=0.0, *",
    "*;q=0",
    "gzip;q=",
    "gzip;q=-1",
    "gzip;q=nan",
    "gzip;level=9",
    "identity;q=1, gzip;q=0.5",
    "gzipped",
    ";;;,,,",
]


@pytest.mark.parametrize("accept", TAKES)
def test_a_client_accepts_gzip(accept: str) -> None:
    assert accepts_gzip(accept)


@pytest.mark.parametrize("accept", DOES_NOT)
def test_a_client_does_not_accept_gzip_or_prefers_identity(accept: str) -> None:
    assert not accepts_gzip(accept)


def test_an_etag_is_the_bodys_and_weak() -> None:
    assert etag(b"a") == etag(b"a") != etag(b"b")
    assert etag(b"").startswith('W/"')
    assert etag(b"").count('"') == 2


@pytest.mark.parametrize("size", [0, 2000, THREAD_ABOVE + 1])
async def test_compressed_responses_can_be_decompressed(size: int) -> None:
    body = b"x" * size
    assert zlib.decompress(await gzipped(body), 31) == body


@pytest.mark.parametrize("name", ["Accept-Encoding", "Accept"])
def test_only_the_beginning_of_an_accept_header_is_read(name: str) -> None:
    headers = CIMultiDict({name: "gzip"})
    for _ in range(127):
        headers.add(name, "a;q=1," * 1_300)
    read = accepted(make_mocked_request("GET", "/", headers), name)
    assert read.startswith("gzip,a;q=1,")
    assert len(read) == LONGEST_ACCEPT


def test_a_long_accept_encoding_is_not_kept() -> None:
    accepts_gzip.cache_clear()
    for last in "abc":
        headers = {"Accept-Encoding": "gzip," + "x" * LONGEST_ACCEPT + last}
        assert takes_gzip(make_mocked_request("GET", "/", headers))
    assert accepts_gzip.cache_info().currsize == 1
