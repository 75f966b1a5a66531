"""Temporary files of slow clients, when the disk is full."""

from __future__ import annotations

import pytest

from api.errors import NoTemporarySpace
from api.http.large_bodies import LARGE, LargeBodies, Spool


class FullDisk:
    """A file whose buffer cannot be written."""

    def seek(self, _: int) -> None:
        raise OSError(28, "No space left on device")

    def write(self, _: bytes) -> None:
        self.seek(0)

    def close(self) -> None:
        self.seek(0)


@pytest.fixture
def bodies() -> LargeBodies:
    return LargeBodies(10 * LARGE)


async def test_a_full_disk_is_reported_and_the_bytes_are_given_back(bodies: LargeBodies) -> None:
    spool = Spool(bodies, "acme")
    spool._file.close()
    spool._file = FullDisk()  # type: ignore[assignment]
    with pytest.raises(NoTemporarySpace):
        await spool.write(b"x" * (LARGE + 1))
    assert bodies.files.used == LARGE + 1
    with pytest.raises(NoTemporarySpace):
        await spool.rewind()
    spool.close()
    assert bodies.files.used == 0
