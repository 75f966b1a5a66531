"""A body that a client sends or reads: in memory if it is small, otherwise in a temporary file."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import suppress

from api.errors import Busy
from api.http.large_bodies import LARGE, LargeBodies, temporary_space


class Spool:
    """Written first, then read. Up to LARGE bytes are in memory; a file counts among those of its
    workspace or address until it is closed."""

    def __init__(self, bodies: LargeBodies, client: str) -> None:
        self._files = bodies.files
        self._client = client
        self._file = tempfile.SpooledTemporaryFile(LARGE)  # noqa: SIM115 - see close
        self._counted = 0
        self.size = 0

    async def write(self, piece: bytes, *, patient: bool = False) -> None:
        """``patient``: waits until other files of the client are closed. Raises Busy,
        NoTemporarySpace."""
        self.size += len(piece)
        if self.size <= LARGE:
            self._file.write(piece)
            return
        added = self.size - self._counted
        if patient:
            await self._files.wait_and_take(self._client, added)
        elif not self._files.take(self._client, added):
            raise Busy("Too many large requests and responses are in progress")
        self._counted = self.size
        with temporary_space():
            await asyncio.to_thread(self._file.write, piece)

    async def rewind(self) -> None:
        """Ends writing. Raises NoTemporarySpace."""
        with temporary_space():
            # It writes what is still in a buffer.
            await asyncio.to_thread(self._file.seek, 0)

    async def read(self, size: int = -1) -> bytes:
        """The next bytes, or all; none at the end."""
        if self._counted:
            return await asyncio.to_thread(self._file.read, size)
        return self._file.read(size)

    async def close(self) -> None:
        with suppress(OSError):  # the rest of a buffer may not fit on a full disk
            self._file.close()
        given_back, self._counted = self._counted, 0
        if given_back:
            await self._files.give_back(self._client, given_back)
