"""PostgreSQL's postmaster.pid, which outlives a killed server and then names anybody."""

import os
from pathlib import Path

from deploy.embedded.errors import EmbeddedPostgresError

NAME = "postmaster.pid"


def clear_stale(cluster: Path) -> None:
    """Removes the pid file of a server that is gone.

    Its number may by now be that of an innocent process, which PostgreSQL would take for a server
    and which pg_ctl would signal. The caller holds the server's lock, so no server of ours is
    left; one that a person started by hand shows by its working directory.
    """
    if running := _servers_in(cluster):
        raise EmbeddedPostgresError(
            f"PostgreSQL (process {running[0]}) runs in {cluster} but was not started by "
            "contentlog: stop it first"
        )
    (cluster / NAME).unlink(missing_ok=True)


def names_server(cluster: Path) -> bool:
    """Whether the file names a server of this cluster, which may be signalled."""
    try:
        named = int(_lines(cluster)[0])
    except (OSError, ValueError, IndexError):
        return False
    # Without /proc (macOS) the server's lock, which somebody holds, has to be proof enough.
    return named in _servers_in(cluster) or not Path("/proc/self").exists()


def status(cluster: Path) -> str:
    """What the server last said of itself: starting, stopping, ready, or nothing."""
    try:
        return _lines(cluster)[7].strip()
    except (OSError, IndexError):
        return ""


def _lines(cluster: Path) -> list[str]:
    return (cluster / NAME).read_text(encoding="utf-8", errors="replace").splitlines()


def _servers_in(cluster: Path) -> list[int]:
    """The postgres processes that work in this folder, as far as /proc shows them to us."""
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
