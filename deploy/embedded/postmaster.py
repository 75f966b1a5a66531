"""The server: its cluster, its settings, its state, its start and its stop."""

import os
import secrets
import shlex
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess

from deploy.embedded import files, sockets
from deploy.embedded.errors import EmbeddedPostgresError, failed
from deploy.embedded.place import Place
from deploy.embedded.programs import Programs, release
from deploy.embedded.sockets import NAME, OWNER

START_TIMEOUT = 600  # seconds for crash recovery
SOCKET_TIMEOUT = 5  # seconds after which a ready server without a socket is stopped
ACCEPTS, REJECTS, NO_RESPONSE = 0, 1, 2  # exit statuses of pg_isready
FAST_STOP_TIMEOUT = 20  # seconds for transactions to end, and for the last checkpoint
STOP_TIMEOUT = 30  # seconds in total
LARGEST_LOG = 8_000_000  # bytes
SETTINGS = {
    "listen_addresses": "",
    "port": str(sockets.PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_statement": "none",
    "log_min_error_statement": "panic",  # statements contain the content of entries
    "log_checkpoints": "off",
    "jit": "off",
}
DRAFT = "initdb-"
ROLES = "contentlog-roles"  # in the cluster: shows that it has the roles below
INITDB = (
    *("--username", OWNER, "--auth", "peer", "--no-instructions"),
    *("--encoding", "UTF8", "--locale", "C"),
    *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
)
CREATE = f"""\
CREATE DATABASE {NAME}
CREATE ROLE {NAME} LOGIN
GRANT CREATE ON DATABASE {NAME} TO {NAME}
"""
NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def option_line(settings: Mapping[str, str]) -> str:
    """The server's settings as options for pg_ctl, which passes the line to a shell."""
    return " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())


def pg_isready(place: Place, programs: Programs) -> int:
    """ACCEPTS, REJECTS (a server that is starting, stopping or recovering), or another number."""
    folder = sockets.folder_of(place)
    if folder is None:
        return NO_RESPONSE
    where = ("-h", str(folder), "-p", str(sockets.PORT), "-d", sockets.NAME, "-U", sockets.NAME)
    return programs.account.run(programs.command("pg_isready", "-q", *where)).returncode


def start(
    place: Place, own_programs: Programs, programs: Programs, settings: Mapping[str, str]
) -> None:
    """Returns once the server responds; starts it with these settings unless it is running.

    Also returns if the server is ready and has its socket, but is too slow to respond: other
    processes may use it, so it is not stopped.

    `own_programs` are run as our user, `programs` as the server's. A server that does
    not respond although some of its processes are left is starting, stopping or recovering on
    behalf of a process that was killed, so this waits for it.
    """
    began = not_ready = time.monotonic()
    while (response := pg_isready(place, own_programs)) != ACCEPTS:
        if (lock := files.take(place.server_lock)) is not None:
            try:
                _start(place, programs, lock, settings)
            finally:
                os.close(lock)
            return
        now = time.monotonic()
        # After a crash of one of its processes, a server that is recovering still has this status.
        if response == REJECTS or _status(place.cluster) != "ready":
            not_ready = now
        if now - not_ready > SOCKET_TIMEOUT:
            if sockets.accepts(sockets.url(place)):
                return
            stop(place, programs)
        if now - began > START_TIMEOUT:
            raise EmbeddedPostgresError(
                f"PostgreSQL has not responded for {START_TIMEOUT} s: see {place.log}, "
                f"and end the processes that have {place.server_lock} open"
            )
        time.sleep(0.05)


def _start(place: Place, programs: Programs, lock: int, more: Mapping[str, str]) -> None:
    if not place.cluster.is_dir():
        _make_cluster(place, programs, lock, durable=more.get("fsync") != "off")
    _check_version(place)
    _clear_stale_pid(place.cluster)
    settings = {
        **SETTINGS,
        **more,
        **sockets.access_rules(place),
        "unix_socket_directories": str(sockets.make_folder(place, programs.account)),
    }
    log = _open_log(place)
    try:
        log_size = os.fstat(log).st_size
        line = option_line(settings)
        done = _pg_ctl(place, programs, "start", "-o", line, keep=(lock,), log=log)
    finally:
        os.close(log)
    if done.returncode != 0:
        output = place.log.read_bytes()[log_size:].decode(errors="replace")
        raise failed("PostgreSQL did not start", output, place.home, place.log)


def _make_cluster(place: Place, programs: Programs, lock: int, *, durable: bool) -> None:
    """Creates the cluster with its database in a draft folder, then renames it. A start that is
    killed here leaves a draft, which the next start removes."""
    for leftover in place.home.glob(f"{DRAFT}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    draft = place.home / f"{DRAFT}{secrets.token_hex(4)}"
    programs.account.make_private(draft)
    no_sync, no_fsync = ((), ()) if durable else (("--no-sync",), ("-F",))
    single = ("--single", "-D", str(draft), "-c", "exit_on_error=on", *no_fsync, "template1")
    try:
        _run_on_draft(programs, lock, draft, "initdb", "-D", str(draft), *INITDB, *no_sync)
        _run_on_draft(programs, lock, draft, "postgres", *single, stdin=CREATE)
        files.write(draft / ROLES, f"{OWNER}\n{NAME}\n")
        draft.rename(place.cluster)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    # Without this, a power failure could undo the rename, and the next start would delete the
    # cluster.
    files.sync_folder(place.home)


def _run_on_draft(
    programs: Programs, lock: int, draft: Path, *command: str, stdin: str = ""
) -> None:
    done = programs.account.run(programs.command(*command), keep=(lock,), stdin=stdin)
    if done.returncode != 0:
        what = f"PostgreSQL could not create its cluster in {draft.parent}"
        raise failed(what, done.stdout, draft.parent)


def _check_version(place: Place) -> None:
    """Raises EmbeddedPostgresError for a cluster of a different major version or of an unreleased
    contentlog, and for one that is not complete."""
    found, ours = _version(place), release().partition(".")[0]
    if not found:
        raise EmbeddedPostgresError(
            f"{place.cluster} is not a complete PostgreSQL cluster: restore it from a backup, or "
            f"move {place.data} away to start with an empty one"
        )
    if found != ours:
        raise EmbeddedPostgresError(
            f"{place.cluster} was made by PostgreSQL {found} and this is PostgreSQL {ours}: dump "
            f"it with PostgreSQL {found} and move {place.data} away to start with an empty one, "
            "or set CONTENTLOG_EVENT_STORE_URL and CONTENTLOG_READ_MODEL_URL to another server"
        )
    if not (place.cluster / ROLES).exists():
        raise EmbeddedPostgresError(
            f"{place.cluster} was made by an unreleased version of contentlog, which cannot be "
            f"upgraded: move {place.data} away to start with an empty one, or set CONTENTLOG_DATA "
            "to another folder"
        )


def _version(place: Place) -> str:
    try:
        return (place.cluster / "PG_VERSION").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def stop(place: Place, programs: Programs) -> None:
    """Stops the server if there is one, and returns when all of its processes have ended.

    If one of them hangs, they are killed. This loses nothing, because the next start recovers from
    the WAL.
    """
    began, asked = time.monotonic(), ""
    while (lock := files.take(place.server_lock)) is None:
        waited = time.monotonic() - began
        if waited > STOP_TIMEOUT:
            raise EmbeddedPostgresError(
                f"PostgreSQL did not stop: see {place.log}, "
                f"and end the processes that have {place.server_lock} open"
            )
        mode = "fast" if waited < FAST_STOP_TIMEOUT else "immediate"
        if mode != asked and _pid_is_server(place.cluster):
            _pg_ctl(place, programs, "stop", "-W", "-m", mode)
            asked = mode
        time.sleep(0.01)
    os.close(lock)
    sockets.remove_short_folder(place)


def _pg_ctl(
    place: Place,
    programs: Programs,
    *arguments: str,
    keep: tuple[int, ...] = (),
    log: int | None = None,
) -> CompletedProcess[str]:
    command = programs.command("pg_ctl", "-s", "-w", "-t", str(START_TIMEOUT), *arguments)
    # Not as -D, which pg_ctl hands to a shell with its dollar signs and quotes as they are.
    folder = {"PGDATA": str(place.cluster)}
    return programs.account.run(command, keep=keep, log=log, environment=folder)


def _open_log(place: Place) -> int:
    log = files.open_own(place.log, os.O_WRONLY | os.O_APPEND)
    if os.fstat(log).st_size <= LARGEST_LOG:
        return log
    os.close(log)
    place.log.replace(place.log.with_suffix(".log.1"))
    return files.open_own(place.log, os.O_WRONLY | os.O_APPEND)


def _clear_stale_pid(cluster: Path) -> None:
    """Removes the pid file of a server that has ended.

    Its process id may now be that of an unrelated process, which PostgreSQL would take for a server
    and which pg_ctl would signal. The caller holds the server's lock, so no server of ours is left;
    one that was started by hand is recognized by its working directory.
    """
    if running := _servers_in(cluster):
        raise EmbeddedPostgresError(
            f"PostgreSQL (process {running[0]}) runs in {cluster} but was not started by "
            "contentlog: stop it first"
        )
    (cluster / "postmaster.pid").unlink(missing_ok=True)


def _pid_is_server(cluster: Path) -> bool:
    """Whether the pid file names a server of this cluster, which may be signalled."""
    try:
        pid = int(_pid_file(cluster)[0])
    except (OSError, ValueError, IndexError):
        return False
    return pid in _servers_in(cluster)


def _status(cluster: Path) -> str:
    """The state in the server's pid file: starting, stopping, ready, or nothing."""
    try:
        return _pid_file(cluster)[7].strip()
    except (OSError, IndexError):
        return ""


def _pid_file(cluster: Path) -> list[str]:
    path = cluster / "postmaster.pid"
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _servers_in(cluster: Path) -> list[int]:
    """The postgres processes that work in this folder, as far as /proc shows them."""
    here = cluster.stat()
    processes = Path("/proc").glob("[0-9]*")
    return [int(process.name) for process in processes if _is_postgres_in(process, here)]


def _is_postgres_in(process: Path, here: os.stat_result) -> bool:
    try:
        there = (process / "cwd").stat()
        name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return False
    return os.path.samestat(there, here) and name == "postgres"
