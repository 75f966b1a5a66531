"""Where the files of one embedded PostgreSQL are.

In the data folder:

    start.lock      held while the server is started or stopped
    users.lock      shared by every process that uses the server
    server.lock     inherited by every process of the server: free means that none is left
    postgres.log    the server's log
    postgres-is-at  only where the cluster lies elsewhere: the path of that folder
    sockets-are-in  only where the socket's path would be too long: the path of its folder

In the home, which is the data folder itself wherever the server's user can enter it:

    postgres/       the cluster
    sockets/        the Unix socket, closed to all other users
    pg_hba.conf, pg_ident.conf   who may connect, written at each start

Root runs the server as another user, who cannot enter a data folder below /root or in another
private folder. The home is then a separate folder in /var/lib/contentlog (or /var/tmp/contentlog),
named after a hash of the data folder's path and a random part; `postgres-is-at` in the data folder
has its path. A data folder that is moved therefore keeps its cluster, and one that is removed and
created again starts with a new one.
"""

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from deploy.embedded import files
from deploy.embedded.errors import EmbeddedPostgresError, explained, unusable
from deploy.embedded.programs import Account

ELSEWHERE = "postgres-is-at"


@dataclass(frozen=True)
class Place:
    """The data folder and the home of its cluster."""

    data: Path
    home: Path

    @property
    def cluster(self) -> Path:
        return self.home / "postgres"

    @property
    def server_lock(self) -> Path:
        return self.data / "server.lock"

    @property
    def log(self) -> Path:
        return self.data / "postgres.log"


def create_folder(data: Path) -> Path:
    """The data folder, created if needed, with links in its path resolved."""
    data.mkdir(mode=0o755, parents=True, exist_ok=True)
    folder = data.resolve()
    if (folder / "PG_VERSION").exists():
        raise unusable(folder, "it is itself a PostgreSQL data folder")
    return folder


def check_exists(data: Path) -> None:
    """Raises EmbeddedPostgresError if the folder does not exist or has no cluster yet."""
    with explained(data):
        folder = Path(os.path.realpath(data))  # ``resolve`` fails for a loop of links
        if find(folder) is None:
            raise EmbeddedPostgresError(
                f"there is no database in {folder}: create one with `contentlog dev` or "
                "`contentlog migrate`, or set CONTENTLOG_DATA to your data folder"
            )


def find(data: Path) -> Place | None:
    """The place of a data folder that has been used before."""
    note = data / ELSEWHERE
    if note.exists():
        home = Path(note.read_text(encoding="utf-8").strip())
        if not home.is_dir():
            raise EmbeddedPostgresError(
                f"the database of {data} was in {home}, which no longer exists: restore that "
                f"folder, or remove {note} to start with an empty one"
            )
        return Place(data, home)
    return Place(data, data) if (data / "postgres").is_dir() else None


def choose(data: Path, account: Account, system_folders: tuple[Path, ...]) -> Place:
    """The place of a new data folder: the folder itself, if the server's user can enter it."""
    if not account.is_other or account.can_enter(data):
        return Place(data, data)
    digest = hashlib.sha256(str(data).encode()).hexdigest()[:16]
    home = files.protected_folder(system_folders) / f"{digest}-{secrets.token_hex(4)}"
    home.mkdir()
    home.chmod(0o711)
    files.write(data / ELSEWHERE, f"{home}\n", mode=0o644)
    return Place(data, home)
