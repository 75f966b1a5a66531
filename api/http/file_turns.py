"""Limits on receiving files, working on them and exporting them, because each takes memory.

A turn at work lasts only while this process works. What waits for a slow client is in a temporary
file (``spool``), and limited only within its workspace.
"""

from __future__ import annotations

import math

from write_side.fair_queue import FairQueue

PER_WORKSPACE = 2
RECEIVED_OF_WORKSPACE = 32
SENT_OF_WORKSPACE = 8


class FileTurns:
    """The dashboard and imports over HTTP share these queues."""

    def __init__(self) -> None:
        # Large request bodies, including files, while they arrive.
        self.receiving = FairQueue(math.inf, per_client=RECEIVED_OF_WORKSPACE)
        # Files that have arrived, while they are stored.
        self.storing = FairQueue(8, per_client=PER_WORKSPACE)
        self.working = FairQueue(4, per_client=PER_WORKSPACE)
        # Pages of exports, and whole workbooks.
        self.exporting = FairQueue(8, per_client=PER_WORKSPACE)
        # Exports, until they are sent.
        self.sending = FairQueue(math.inf, per_client=SENT_OF_WORKSPACE)
