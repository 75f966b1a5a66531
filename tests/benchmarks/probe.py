"""Reads of another workspace, one after another, in a process of their own: when each began and
how long it waited, as lines ``KIND STARTED WAITED STATUS`` by the machine's monotonic clock."""

from __future__ import annotations

import asyncio
import sys
import time

PATHS = {
    "list": "/v1/content/posts",
    "single": "/v1/content/posts/entry-7",
    "healthz": "/healthz",
}
PAUSE = 0.003


async def poll(kind: str, port: int, secret: str) -> None:
    key = f"Authorization: Bearer {secret}\r\nX-Forwarded-For: 10.9.9.9\r\n"
    request = f"GET {PATHS[kind]} HTTP/1.1\r\nHost: bench\r\n{key}\r\n".encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        began = time.monotonic()
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        at = head.index(b"content-length: ") + 16
        await reader.readexactly(int(head[at : at + 12].split(b"\r\n")[0]))
        status = int(head.split()[1])
        print(kind, began, time.monotonic() - began, status, flush=True)
        await asyncio.sleep(PAUSE)


async def main(port: int, secret: str) -> None:
    await asyncio.gather(*(poll(kind, port, secret) for kind in PATHS))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
