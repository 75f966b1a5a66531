"""Logs on standard error: text on a terminal, JSON lines elsewhere."""

from __future__ import annotations

import logging
import sys
from typing import Any

from deploy.settings import Settings


def configure_logs(settings: Settings, *, level: int = logging.INFO) -> None:
    """Send what structlog and the standard library log, from ``level`` on, to standard error.

    Our own lines, one for each request, go directly to the stream. The few lines of the standard
    library get the same format.
    """
    import structlog

    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    as_text = (settings.log_format or ("text" if sys.stderr.isatty() else "json")) == "text"
    structlog.configure(
        processors=[*shared, *_rendering(as_text=as_text)],
        logger_factory=(
            structlog.PrintLoggerFactory(sys.stderr)
            if as_text
            else structlog.BytesLoggerFactory(sys.stderr.buffer)
        ),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(as_text=as_text),
                _decoded,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    # It logs a traceback for each attempt to reconnect; the user of the connection logs one line.
    logging.getLogger("asyncpg.pool").setLevel(logging.ERROR)


def _rendering(*, as_text: bool) -> list[Any]:
    import structlog

    if as_text:
        # A traceback with the values of local variables, structlog's default, would show secrets.
        return [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    return [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(serializer=_as_json),
    ]


def _as_json(line: dict[str, Any], **_: Any) -> bytes:
    import msgspec

    return msgspec.json.encode(line, enc_hook=repr)


def _decoded(_logger: Any, _name: str, line: Any) -> str:
    """The standard library's handlers write text, not bytes."""
    return line.decode() if isinstance(line, bytes) else str(line)
