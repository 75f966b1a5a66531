"""Limits on receiving files, working on them and exporting them, because each takes memory."""

from __future__ import annotations

from aiohttp import web

from write_side.fair_queue import FairQueue

PER_WORKSPACE = 2
# Separate turns, so that a slow upload does not prevent work on files that have arrived.
RECEIVING = web.AppKey("receiving_turns", FairQueue)
WORKING = web.AppKey("working_turns", FairQueue)
EXPORTING = web.AppKey("exporting_turns", FairQueue)


def add_file_turns(app: web.Application) -> None:
    """The dashboard and imports over HTTP share these queues."""
    for key, at_once in ((RECEIVING, 8), (WORKING, 4), (EXPORTING, 8)):
        app[key] = FairQueue(at_once, per_client=PER_WORKSPACE)
