"""One PostgreSQL cluster for a whole test run, shared by all pytest workers."""

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

OUTSIDE = "CONTENTLOG_TEST_DATABASE_URL"  # a superuser's URL on the developer's own server
SETTINGS = {"max_connections": "300", "max_wal_size": "512MB"}
MEMORY = Path("/dev/shm")  # noqa: S108
ENOUGH = 2 << 30


@contextmanager
def use_cluster(folder: Path) -> Iterator[str]:
    """Yields a superuser's URL on a cluster that all workers of this run share. The cluster is not
    durable.

    `folder` is the run's folder (pytest's base folder; under xdist, the parent of the workers'
    folders). The last worker stops the server and removes the cluster. If
    CONTENTLOG_TEST_DATABASE_URL names a server, that server is used unchanged.
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
    """Returns the folder for this run's cluster. It is not in the run's folder, which PostgreSQL's
    user cannot access if root runs the tests.

    The folder is in memory if there is enough: creating a database takes a fifth of the time there.
    """
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).total >= ENOUGH
    return (MEMORY if in_memory else Path(tempfile.gettempdir())) / f"contentlog-tests-{digest}"
