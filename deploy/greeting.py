"""What `contentlog dev` says when all is up, and how it knows."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

POLL = 0.05


async def answers(base: str, patience: float) -> bool:
    """Whether the API says within `patience` seconds that it is ready."""
    limit = time.monotonic() + patience
    while not await _is_ready(base):
        if time.monotonic() > limit:
            return False
        await asyncio.sleep(POLL)
    return True


async def _is_ready(base: str) -> bool:
    where = urlsplit(base)
    try:
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
    except OSError:
        return False
    try:
        request = f"GET /readyz HTTP/1.1\r\nHost: {where.netloc}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        async with asyncio.timeout(5):
            status = await reader.readline()
    except (OSError, TimeoutError):
        return False
    finally:
        writer.close()
    return status.startswith(b"HTTP/1.1 200")


def lines(base: str, key: str | None) -> Iterator[str]:
    """Where things are, and with a demo key three lines to copy."""
    yield f"contentlog is ready at {base}   (Ctrl-C stops everything)"
    yield f"  dashboard {base}/dashboard"
    yield f"  content   {base}/v1/content"
    yield f"  health    {base}/readyz   {base}/metrics"
    if key is None:
        yield "  keys      contentlog key issue --help"
        return
    yield f"  demo key  {key}"
    yield ""
    yield "The latest articles, one of them in French, and one of your own:"
    yield f"  curl -H 'Authorization: Bearer {key}' '{base}/v1/content/articles?limit=3'"
    yield (
        f"  curl -H 'Authorization: Bearer {key}' "
        f"'{base}/v1/content/articles/fog-by-ear?locale=fr-FR'"
    )
    yield (
        f"  curl -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' "
        f"-d '{_draft()}' '{base}/v1/content'"
    )


def _draft() -> str:
    """A new entry, with a title that no earlier start has used."""
    written = {
        "contentTypeSlug": "articles",
        "title": f"A letter from the terminal, {time.strftime('%d %B %Y at %H:%M:%S')}",
        "fields": {"form": "letter", "standfirst": "Written at the prompt, posted at once."},
    }
    return json.dumps(written)
