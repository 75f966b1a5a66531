"""Returns freed memory to the system while a server runs.

By itself, glibc keeps memory that is freed before the end of its heap: 4 MiB in each process.
"""

import asyncio
import ctypes
import sys
import time
from collections.abc import Awaitable
from typing import Any

INTERVAL = 60.0
"""Seconds after which freed memory is returned in the next quiet moment."""
LONGEST = 600.0
"""Seconds after which it is returned although the process is busy. The event loop stops for some
milliseconds then. A thread would not help: its call holds the lock that every allocation takes."""
LOOK = 1.0
QUIET = 0.05
"""A moment of LOOK seconds is quiet if the process ran for less than this share of it."""
_trim: Any = None
if sys.platform == "linux":
    _trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


async def trimmed(work: Awaitable[None]) -> None:
    """Does the work, and returns freed memory meanwhile."""
    if _trim is not None:
        _look(asyncio.get_running_loop().time(), 0.0)
    await work


def _look(returned: float, used: float) -> None:
    """``returned``: when memory was last returned. ``used``: processor time until the last look."""
    loop = asyncio.get_running_loop()
    is_quiet = time.process_time() - used < QUIET * LOOK
    if loop.time() - returned >= (INTERVAL if is_quiet else LONGEST):
        _trim(0)
        returned = loop.time()
    loop.call_later(LOOK, _look, returned, time.process_time())
