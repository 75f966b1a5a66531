"""The running server: whether it answers, its start and its stop."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from subprocess import CompletedProcess

from deploy.embedded import cluster, files, options, pidfile, sockets
from deploy.embedded.errors import EmbeddedPostgresError, failed
from deploy.embedded.place import Place
from deploy.embedded.programs import Programs

PATIENCE = 600  # seconds for crash recovery, and for the last checkpoint of a stop
DEAF = 5  # seconds after which a ready server that does not answer has lost its socket
STUBBORN = 30  # seconds for processes that nobody may be asked to stop
LARGEST_LOG = 8_000_000  # bytes


@dataclass(frozen=True)
class Options:
    """How a server is started; one that already runs keeps what it was started with."""

    durable: bool
    settings: Mapping[str, str]


def answers(place: Place, own: Programs) -> bool:
    """Whether the server accepts connections: pg_isready says so."""
    folder = sockets.folder_of(place)
    if folder is None:
        return False
    where = ("-h", str(folder), "-p", str(sockets.PORT), "-d", sockets.NAME, "-U", sockets.NAME)
    return own.account.run(own.command("pg_isready", "-q", *where)).returncode == 0


def start(place: Place, own: Programs, lent: Programs, how: Options) -> None:
    """Returns when the server answers, started here or found running.

    A server that does not answer although processes of it are left is starting, stopping or
    recovering on behalf of somebody who was killed: it is waited for.
    """
    began = time.monotonic()
    while not answers(place, own):
        if (lock := files.take(place.server_lock)) is not None:
            try:
                return _start(place, lent, lock, how)
            finally:
                os.close(lock)
        waited = time.monotonic() - began
        if waited > DEAF and pidfile.status(place.cluster) == "ready":
            stop(place, lent)
        if waited > PATIENCE:
            raise EmbeddedPostgresError(
                f"PostgreSQL has not answered for {PATIENCE} s: see {place.log}, "
                f"and end the processes that have {place.server_lock} open"
            )
        time.sleep(0.05)
    return None


def _start(place: Place, lent: Programs, lock: int, how: Options) -> None:
    if not place.cluster.is_dir():
        cluster.make(place, lent, lock, durable=how.durable)
    cluster.check_version(place)
    pidfile.clear_stale(place.cluster)
    folder = sockets.make_folder(place, lent.account)
    access = sockets.access_rules(place)
    line = options.command_line(folder, access, how.settings, durable=how.durable)
    log = _open_log(place)
    try:
        said_before = os.fstat(log).st_size
        done = _pg_ctl(place, lent, "start", "-o", line, keep=(lock,), log=log)
    finally:
        os.close(log)
    if done.returncode != 0:
        said = _log_since(place, said_before)
        raise failed("PostgreSQL did not start", said, place.home, place.log)


def stop(place: Place, lent: Programs) -> None:
    """Stops the server if there is one, and returns when all of its processes are gone."""
    limit = time.monotonic() + STUBBORN
    while (lock := files.take(place.server_lock)) is None:
        if pidfile.names_server(place.cluster):
            _pg_ctl(place, lent, "stop", "-m", "fast")
        if time.monotonic() > limit:
            raise EmbeddedPostgresError(
                f"PostgreSQL did not stop: see {place.log}, "
                f"and end the processes that have {place.server_lock} open"
            )
        time.sleep(0.01)
    os.close(lock)
    sockets.remove_short_folder(place)


def _pg_ctl(
    place: Place,
    lent: Programs,
    *arguments: str,
    keep: tuple[int, ...] = (),
    log: int | None = None,
) -> CompletedProcess[str]:
    command = lent.command("pg_ctl", *arguments, "-s", "-w", "-t", str(PATIENCE))
    # Not as -D, which pg_ctl puts before a shell with its dollar signs and quotes as they are.
    where = {"PGDATA": str(place.cluster)}
    return lent.account.run(command, keep=keep, log=log, environment=where)


def _open_log(place: Place) -> int:
    log = files.open_own(place.log, os.O_WRONLY | os.O_APPEND)
    if os.fstat(log).st_size <= LARGEST_LOG:
        return log
    os.close(log)
    place.log.replace(place.log.with_suffix(".log.1"))
    return files.open_own(place.log, os.O_WRONLY | os.O_APPEND)


def _log_since(place: Place, offset: int) -> str:
    with place.log.open("rb") as log:
        log.seek(offset)
        return log.read().decode(errors="replace")
