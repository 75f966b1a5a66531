"""Compressed bodies: chunks of any size, and never more output than requested."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.rest.request_body import MAX_MEMBERS, PIECE, DamagedBody, Decompressor

Pack = Callable[[bytes], bytes]

LIMIT = 1_000_000
TEXT = b"a tide clock on Fore Street, " * 40


def bare(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


PACKINGS: list[tuple[str, Pack]] = [
    ("gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", bare),
]


def decompressed(encoding: str, packed: bytes, size: int = 1 << 20, limit: int = LIMIT) -> bytes:
    """Decompresses the whole body in chunks of ``size`` bytes."""
    decompressor, body = Decompressor(encoding), b""
    for start in range(0, len(packed), size):
        body += decompressor.decompress(packed[start : start + size], limit)
    decompressor.end()
    return body


@given(st.sampled_from(PACKINGS), st.binary(max_size=3 * PIECE), st.integers(1, 2 * PIECE))
def test_compressed_bodies_are_decompressed(packing: tuple[str, Pack], body: bytes, n: int) -> None:
    encoding, pack = packing
    assert decompressed(encoding, pack(body), n) == body


@given(st.lists(st.binary(max_size=PIECE), min_size=1, max_size=5), st.integers(1, 2 * PIECE))
def test_members_of_a_gzip_file_are_read_one_after_the_other(members: list[bytes], n: int) -> None:
    assert decompressed("gzip", b"".join(map(gzip.compress, members)), n) == b"".join(members)


@pytest.mark.parametrize(("encoding", "pack"), PACKINGS)
def test_a_truncated_body_is_damaged(encoding: str, pack: Pack) -> None:
    packed = pack(TEXT)
    for end in range(1, len(packed)):
        with pytest.raises(DamagedBody):
            decompressed(encoding, packed[:end])


@pytest.mark.parametrize(("encoding", "pack"), PACKINGS)
@pytest.mark.parametrize("garbage", [b"\x00", b"\x1f", b"\x1f\x8b", b"{}", b"x" * 100])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_garbage_after_a_body_is_damage(
    encoding: str, pack: Pack, garbage: bytes, size: int
) -> None:
    with pytest.raises(DamagedBody):
        decompressed(encoding, pack(TEXT) + garbage, size)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_an_uncompressed_body_is_damaged_and_an_empty_one_is_empty(encoding: str) -> None:
    for plain in (b'{"title": "T"}', b"no gzip", b"\x00", b"x" * 2 * PIECE):
        with pytest.raises(DamagedBody):
            decompressed(encoding, plain)
    assert decompressed(encoding, b"") == b""


@pytest.mark.parametrize(("encoding", "pack"), PACKINGS)
def test_no_more_than_the_limit_is_decompressed(encoding: str, pack: Pack) -> None:
    packed = pack(bytes(10_000_000))
    for limit in (1, 100, PIECE, 999_999):
        assert len(Decompressor(encoding).decompress(packed, limit)) == limit


def test_the_limit_applies_to_all_members_together() -> None:
    packed = gzip.compress(bytes(1000)) * 20
    assert len(Decompressor("gzip").decompress(packed, 10_500)) == 10_500


def test_endless_members_are_damage() -> None:
    empty = gzip.compress(b"")
    assert decompressed("gzip", empty * MAX_MEMBERS) == b""
    with pytest.raises(DamagedBody):
        decompressed("gzip", empty * (MAX_MEMBERS + 1))
