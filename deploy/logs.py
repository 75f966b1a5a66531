"""Logs on standard error: text on a terminal, JSON lines elsewhere."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from typing import IO, Any

import msgspec

from deploy.settings import DEFAULT_MODEL, Settings
from write_side import tracing

DELAY = 0.1
"""Seconds for which a line may wait."""
MOST = 64 * 1024
"""Bytes that may wait to be written."""


def configure_logs(settings: Settings, *, level: int = logging.INFO) -> None:
    """Send what structlog and the standard library log, from ``level`` on, to standard error.

    To be called before any module imports structlog.
    """
    _import_structlog()
    if (settings.log_format or ("text" if sys.stderr.isatty() else "json")) == "text":
        handler = _configure_text(level, _context_adder(settings))
    else:
        handler = _configure_json(level, _context_adder(settings))
    logging.basicConfig(handlers=[handler], level=level, force=True)
    # It logs a traceback for each attempt to reconnect; the user of the connection logs one line.
    logging.getLogger("asyncpg.pool").setLevel(logging.ERROR)


def _import_structlog() -> None:
    """Without rich, which structlog imports for tracebacks that contentlog does not write: 4 MiB of
    memory."""
    if "rich" not in sys.modules:
        sys.modules["rich"] = None  # type: ignore[assignment]
        try:
            import structlog  # noqa: F401 - for the others
        finally:
            del sys.modules["rich"]


def _configure_text(level: int, add_context: Any) -> logging.Handler:
    import structlog

    # A traceback with the values of local variables, structlog's default, would show secrets.
    renderer = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
    )
    processors: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        add_context,
    ]
    structlog.configure(
        processors=[*processors, renderer],
        logger_factory=structlog.PrintLoggerFactory(_Lossy(sys.stderr)),  # type: ignore[arg-type]
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    return _formatted(logging.StreamHandler(sys.stderr), processors, renderer)


def _configure_json(level: int, add_context: Any) -> logging.Handler:
    import structlog

    lines = LogLines(sys.stderr.buffer)
    processors: list[Any] = [structlog.processors.add_log_level, _add_time, add_context]
    renderers: list[Any] = [structlog.processors.format_exc_info, _as_json]
    structlog.configure(
        processors=[*processors, *renderers],
        logger_factory=lambda *_: lines,
        wrapper_class=_json_logger(level, add_context),
        cache_logger_on_first_use=True,
    )
    return _formatted(lines, processors, *renderers, _decoded)


def _formatted(handler: logging.Handler, shared: list[Any], *renderers: Any) -> logging.Handler:
    """Gives lines of the standard library, which are few, the format of ours."""
    import structlog

    stdlib = structlog.stdlib
    formatter = stdlib.ProcessorFormatter(
        foreign_pre_chain=[stdlib.add_logger_name, *shared],
        processors=[stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
    )
    handler.setFormatter(formatter)
    return handler


def _json_logger(level: int, add_context: Any) -> Any:
    """structlog's logger, with a shortcut for frequent lines."""
    import structlog

    filtering: Any = structlog.make_filtering_bound_logger(level)
    if level > logging.INFO:
        return filtering

    class JSONLogger(filtering):  # type: ignore[misc]
        def info(self, event: str, **fields: Any) -> None:
            """Writes the line that the processors would write, in a quarter of the time."""
            fields["event"], fields["level"] = event, "info"
            line = add_context(self, "info", _add_time(self, "info", fields))
            self._logger.info(_as_json(self, "info", line))

    return JSONLogger


def _add_time(_logger: Any, _name: str, line: Any) -> Any:
    line["timestamp"] = datetime.now(UTC)
    return line


def _context_adder(settings: Settings) -> Any:
    """A processor that adds the name of the read model unless it is the default one, and the
    current span unless the line names another."""
    name = {} if settings.read_model == DEFAULT_MODEL else {"read_model": settings.read_model}

    def add(_logger: Any, _name: str, line: Any) -> Any:
        line.update(name)
        if (context := tracing.context()) is not None and "trace_id" not in line:
            line.update(tracing.fields(context))
        return line

    return add


def _as_json(_logger: Any, _name: str, line: Any) -> bytes:
    return msgspec.json.encode(line, enc_hook=repr)


def _decoded(_logger: Any, _name: str, line: bytes) -> str:
    """The standard library's handlers write text."""
    return line.decode()


class _Lossy:
    """A stream that loses what cannot be written, because the disk is full or the reader of the
    pipe has ended: the process continues."""

    def __init__(self, stream: IO[Any]) -> None:
        self._stream = stream

    def write(self, text: str | bytes) -> None:
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


class LogLines(logging.Handler):
    """Standard error for lines of JSON, written in order and in batches: most lines cost no call to
    the system. ``logging`` flushes it at the end of the program.

    What the standard library logs is written at once.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._lines = _Lossy(stream)
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
                self._lines.write(b"\n".join((*waiting, b"")))
                self._lines.flush()

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

    # The methods of a logger, for structlog.
    debug = info = add
    warning = error = critical = write
