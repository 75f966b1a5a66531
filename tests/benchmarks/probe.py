"""Sends another workspace's requests in sequence, from a separate process.

Prints a line ``KIND STARTED WAITED STATUS`` for each, with times of the monotonic clock.
"""

from __future__ import annotations

import asyncio
import sys
import time
from itertools import count

import msgspec

_FIELDS = "id title slug status fields contentType { name slug fields { name slug type } } "
_QUERY = "query { " + "".join(
    f'a{n}: contentEntry(type: "posts", slug: "entry-{n}") {{ {_FIELDS} }} ' for n in range(15)
)
KINDS: dict[str, tuple[str, bytes | None]] = {
    "list": ("/v1/content/posts", None),
    "single": ("/v1/content/posts/entry-7", None),
    "healthz": ("/healthz", None),
    "POST": (
        "/v1/content",
        msgspec.json.encode(
            {"contentTypeSlug": "posts", "title": "x NUMBER", "fields": {"body": "word " * 400}}
        ),
    ),
    "GraphQL": ("/graphql", msgspec.json.encode({"query": _QUERY + "}"})),
}
"""The path, and for a POST the body. Each POST has another title."""
PAUSE = 0.003
AFTER_POST = 0.05


async def poll(kind: str, port: int, secret: str) -> None:
    path, template = KINDS[kind]
    key = f"Authorization: Bearer {secret}\r\nX-Forwarded-For: 10.9.9.9\r\n"
    method = "GET" if template is None else "POST"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in count():
        body = (template or b"").replace(b"NUMBER", b"%d" % number)
        head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\n{key}Content-Length: {len(body)}"
        began = time.monotonic()
        writer.write(f"{head}\r\n\r\n".encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        at = answer.index(b"content-length: ") + 16
        content = await reader.readexactly(int(answer[at : at + 12].split(b"\r\n")[0]))
        status = 400 if b'"errors":' in content else int(answer.split()[1])
        print(kind, began, time.monotonic() - began, status, flush=True)
        await asyncio.sleep(PAUSE if template is None else AFTER_POST)


async def main(port: int, secret: str) -> None:
    await asyncio.gather(*(poll(kind, port, secret) for kind in KINDS))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
