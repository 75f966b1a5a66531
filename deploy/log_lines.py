"""Standard error for lines of JSON, written in batches: most lines cost no call to the system."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import BinaryIO

DELAY = 0.1
"""Seconds for which a line may wait."""
MOST = 64 * 1024
"""Bytes that may wait to be written."""


class LogLines(logging.Handler):
    """Writes lines in order. ``logging`` flushes it at the end of the program.

    What the standard library logs is written at once.
    """

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream = stream
        self._turn = threading.RLock()
        self._waiting: list[bytes] = []
        self._size = 0
        # The loop that is going to flush.
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, line: bytes) -> None:
        """Writes within DELAY, or immediately if no event loop runs in this thread."""
        with self._turn:
            self._waiting.append(line)
            self._size += len(line)
            if self._size > MOST:
                self.flush()
            elif self._loop is None or self._loop.is_closed():
                self._flush_later()

    def write(self, line: bytes) -> None:
        """Writes immediately, after the waiting lines."""
        with self._turn:
            self._waiting.append(line)
            self.flush()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.write(self.format(record).encode())
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        with self._turn:
            waiting, self._waiting, self._size, self._loop = self._waiting, [], 0, None
            if waiting:
                self._stream.write(b"\n".join((*waiting, b"")))
                self._stream.flush()

    def close(self) -> None:
        self.flush()
        super().close()

    def _flush_later(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
        else:
            loop.call_later(DELAY, self.flush)
            self._loop = loop


class LineLogger:
    """Receives structlog's lines; warnings and errors are written immediately."""

    def __init__(self, lines: LogLines) -> None:
        self.debug = self.info = lines.add
        self.warning = self.error = self.critical = lines.write
