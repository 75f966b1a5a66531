"""Limits on receiving files, working on them and exporting them, because each takes memory.

A turn at work lasts only while this process works. What waits for a slow client is in a temporary
file (``spool``), and limited only within its workspace.
"""

from __future__ import annotations

import math

from aiohttp import web

from write_side.fair_queue import FairQueue

PER_WORKSPACE = 2
RECEIVED_OF_WORKSPACE = 32
SENT_OF_WORKSPACE = 8
RECEIVING = web.AppKey("receiving_turns", FairQueue)
"""Large request bodies, including files, while they arrive."""
STORING = web.AppKey("storing_turns", FairQueue)
"""Files that have arrived, while they are stored."""
WORKING = web.AppKey("working_turns", FairQueue)
EXPORTING = web.AppKey("exporting_turns", FairQueue)
"""Pages of exports, and whole workbooks."""
SENDING = web.AppKey("sending_turns", FairQueue)
"""Exports, until they are sent."""


def add_file_turns(app: web.Application) -> None:
    """The dashboard and imports over HTTP share these queues."""
    for key, at_once in ((STORING, 8), (WORKING, 4), (EXPORTING, 8)):
        app[key] = FairQueue(at_once, per_client=PER_WORKSPACE)
    for key, most in ((RECEIVING, RECEIVED_OF_WORKSPACE), (SENDING, SENT_OF_WORKSPACE)):
        app[key] = FairQueue(math.inf, per_client=most)
