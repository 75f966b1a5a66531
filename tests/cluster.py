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
from deploy.embedded.sockets import owner_url

OUTSIDE = "CONTENTLOG_TEST_DATABASE_URL"  # of a superuser, on a server of the tester's own
SETTINGS = {"max_connections": "300", "max_wal_size": "512MB"}
MEMORY = Path("/dev/shm")  # noqa: S108
ENOUGH = 2 << 30


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
    home = _home(folder)
    workers = files.share(folder / "cluster.lock")
    try:
        home.mkdir(mode=0o711, exist_ok=True)
        system_folders = (home / "system",)
        with use(
            home / "data", durable=False, settings=SETTINGS, system_folders=system_folders
        ) as url:
            yield owner_url(url)
    finally:
        if files.is_last(workers):
            shutil.rmtree(home, ignore_errors=True)
        os.close(workers)


def _home(folder: Path) -> Path:
    """Where the cluster of this run is kept; not in the run's folder, which is closed to the
    server's user if root runs the tests.

    In memory if there is enough: making a database takes a fifth of the time there.
    """
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).total >= ENOUGH
    return (MEMORY if in_memory else Path(tempfile.gettempdir())) / f"contentlog-tests-{digest}"
