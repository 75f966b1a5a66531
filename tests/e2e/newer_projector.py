"""``python -m tests.e2e.newer_projector EVENT_STORE_URL READ_MODEL_URL``

Runs ``contentlog projector`` of a version that knows one more topic.
"""

from __future__ import annotations

import asyncio
import sys

from projector.process import ProjectorSettings, run
from write_side.domain.events import TOPICS, MediaAdded
from write_side.process_state import ProcessState

TOPIC = "media.added.v2"


def learn() -> None:
    TOPICS[TOPIC] = MediaAdded


if __name__ == "__main__":
    learn()
    asyncio.run(run(ProjectorSettings(sys.argv[1], sys.argv[2]), ProcessState()))
