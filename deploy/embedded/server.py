"""The embedded PostgreSQL, as its users see it.

Every process that needs the server uses it while it runs: the first one starts it, and the last one
stops it. A process that was killed no longer counts; the server that it leaves behind serves the
next one.

`contentlog dev` runs ``python -m deploy.embedded.server FOLDER``.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from deploy.embedded import files, place, postmaster, programs, sockets
from deploy.embedded.errors import EmbeddedPostgresError, explained
from deploy.embedded.place import Place
from deploy.embedded.programs import Programs, current_account, for_server

INTERVAL = 0.25  # seconds between two checks


@contextmanager
def use(
    data: Path,
    *,
    durable: bool = True,
    settings: Mapping[str, str] = {},
    system_folders: tuple[Path, ...] = files.SYSTEM_FOLDERS,
) -> Iterator[str]:
    """The server of this data folder, as a URL for asyncpg and psycopg alike.

    Starts the server if it does not run, creates its cluster if there is none, and stops it on exit
    unless another process uses it. Blocks while it does so. `durable=False` may lose or damage
    everything in a crash, and is for tests. `settings` are PostgreSQL's, for a server that is
    started here. Root keeps the cluster in one of the `system_folders` if the server's user cannot
    enter the data folder (see deploy.embedded.place).

    Raises EmbeddedPostgresError with what to do.
    """
    with explained(data):
        folder = place.create_folder(data)
        users = files.share(folder / "users.lock")
    try:
        with explained(folder), files.locked(folder / "start.lock"):
            given = settings if durable else {**postmaster.NOT_DURABLE, **settings}
            url = _started(folder, given, system_folders)
        yield url
    finally:
        with explained(folder), files.locked(folder / "start.lock"):
            if files.is_last(users) and (found := place.find(folder)):
                postmaster.stop(found, _programs(found, system_folders))
            os.close(users)


def _started(folder: Path, settings: Mapping[str, str], system_folders: tuple[Path, ...]) -> str:
    found = place.find(folder) or place.choose(folder, for_server(None), system_folders)
    own_programs = Programs(programs.installed(), current_account())
    if postmaster.pg_isready(found, own_programs) != postmaster.ACCEPTS:
        postmaster.start(found, own_programs, _programs(found, system_folders), settings)
    return sockets.url(found)


def _programs(found: Place, system_folders: tuple[Path, ...]) -> Programs:
    return programs.runnable(for_server(found.cluster), system_folders)


def main(data: Path) -> str:
    """Uses the server, and starts it if it does not run. Ends when the server does, so that the
    supervisor of this process starts it again. Creates no database, because the folder may have
    been moved."""
    try:
        place.check_exists(data)
        with use(data) as url:
            while sockets.accepts(url):
                time.sleep(INTERVAL)
    except EmbeddedPostgresError as error:
        return str(error)
    return "the embedded PostgreSQL has ended"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
