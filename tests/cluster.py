"""One PostgreSQL for a whole run of the suite, however many workers it has."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.embedded import files
from deploy.embedded.server import use

OUTSIDE = "CONTENTLOG_TEST_DATABASE_URL"  # of a superuser, on a server of the tester's own
SETTINGS = {"max_connections": "300"}


@contextmanager
def use_cluster(folder: Path) -> Iterator[str]:
    """A superuser's URL on a cluster that every worker of this run shares, and that forgets.

    `folder` is the run's own (pytest's base folder, under xdist the parent of the workers').
    The last worker stops the server and removes the cluster. Where the variable
    CONTENTLOG_TEST_DATABASE_URL names a server, that one is used as it is.
    """
    if outside := os.environ.get(OUTSIDE):
        yield outside
        return
    data, shelter = folder / "cluster", _shelter(folder)
    workers = files.share(folder / "cluster.lock")
    try:
        with use(data, durable=False, settings=SETTINGS, shelters=(shelter,)) as url:
            yield url
    finally:
        if files.is_last(workers):
            shutil.rmtree(data, ignore_errors=True)
            shutil.rmtree(shelter, ignore_errors=True)
        os.close(workers)


def _shelter(folder: Path) -> Path:
    """Where root, whose pytest folders are closed to others, keeps the cluster of this run."""
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"contentlog-tests-{digest}"
