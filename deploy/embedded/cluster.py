"""Creates a cluster, completely or not at all, and checks the version of an existing one."""

import secrets
import shutil
from pathlib import Path

from deploy.embedded import files
from deploy.embedded.errors import EmbeddedPostgresError, failed
from deploy.embedded.place import Place
from deploy.embedded.programs import Programs, release
from deploy.embedded.sockets import NAME, OWNER

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


def make(place: Place, programs: Programs, lock: int, *, durable: bool) -> None:
    """Creates the cluster with its database in a draft folder, then renames it. A start that is
    killed here leaves a draft, which the next start removes."""
    for leftover in place.home.glob(f"{DRAFT}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    draft = place.home / f"{DRAFT}{secrets.token_hex(4)}"
    programs.account.make_private(draft)
    no_sync, no_fsync = ((), ()) if durable else (("--no-sync",), ("-F",))
    single = ("--single", "-D", str(draft), "-c", "exit_on_error=on", *no_fsync, "template1")
    try:
        _run(programs, lock, draft, "initdb", "-D", str(draft), *INITDB, *no_sync)
        _run(programs, lock, draft, "postgres", *single, stdin=CREATE)
        files.write(draft / ROLES, f"{OWNER}\n{NAME}\n")
        draft.rename(place.cluster)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    # Without this, a power failure could undo the rename, and the next start would delete the
    # cluster.
    files.sync_folder(place.home)


def _run(programs: Programs, lock: int, draft: Path, *command: str, stdin: str = "") -> None:
    done = programs.account.run(programs.command(*command), keep=(lock,), stdin=stdin)
    if done.returncode != 0:
        what = f"PostgreSQL could not create its cluster in {draft.parent}"
        raise failed(what, done.stdout, draft.parent)


def check_version(place: Place) -> None:
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
