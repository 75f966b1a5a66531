"""The workers of one `contentlog api`: on one port, and with one set of counts.

prometheus_client keeps the counts of each in files of a folder, whose name it takes from the
environment when it is imported. Files are named by the worker's number, not by its process id: its
successor counts on where it ended.
"""

from __future__ import annotations

import asyncio
import os
from tempfile import TemporaryDirectory

from deploy.children import Child, supervise
from deploy.databases import Databases
from deploy.program import contentlog
from deploy.settings import Settings

METRICS = "PROMETHEUS_MULTIPROC_DIR"


def run_workers(settings: Settings, found: Databases) -> None:
    """Keep as many as the settings say, until SIGTERM or SIGINT."""
    from prometheus_client.multiprocess import mark_process_dead

    numbers = {_worker(settings, number): number for number in range(1, settings.workers + 1)}

    def ended(worker: Child) -> None:
        mark_process_dead(numbers[worker])  # type: ignore[no-untyped-call]

    with TemporaryDirectory(prefix="contentlog-metrics-") as folder:
        os.environ.update({**found.environment(), METRICS: folder})
        asyncio.run(supervise(list(numbers), ended=ended))


def _worker(settings: Settings, number: int) -> Child:
    where = ("--host", settings.host, "--port", str(settings.port))
    which = ("--workers", "1", "--worker", str(number))
    return Child(f"api worker {number}", contentlog("api", *where, *which))


def count_as(worker: int) -> None:
    """Within the worker, before anything is imported that counts."""
    from prometheus_client import values

    values.ValueClass = values.MultiProcessValue(lambda: worker)  # type: ignore[no-untyped-call]


def metrics_folder() -> str | None:
    return os.environ.get(METRICS)
