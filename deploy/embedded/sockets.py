"""The folder of the server's Unix socket, and its URL.

There is no TCP port. Only the server's user (and root) can enter the folder, and the server asks
the kernel for the user at the other end (peer). It admits root, the user who starts the server, and
the owner of the data folder, each as either role, but no other user of this machine, not even the
one that runs the server for root.
"""

import os
import pwd
import re
import socket
import tempfile
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from deploy.embedded import files
from deploy.embedded.place import Place
from deploy.embedded.programs import Account, current_account

NAME = "contentlog"  # of the database, and of the role that runs contentlog
OWNER = "contentlog_owner"  # of the tables of the event store
PORT = 5432
NOTE = "sockets-are-in"
# 108 bytes of sun_path, less the file's name and the closing zero.
LONGEST = 108 - len(f"/.s.PGSQL.{PORT}") - 1
# Drivers read a comma as a list of hosts.
PLAIN = re.compile(r"/[\w./@%+=-]*", re.ASCII)


def folder_of(place: Place) -> Path | None:
    """The folder that was made for this place, if there is one."""
    note = place.data / NOTE
    if note.exists():
        return Path(note.read_text(encoding="utf-8").strip())
    default = place.home / "sockets"
    return default if default.is_dir() else None


def url(place: Place) -> str:
    """The database's URL, in a form that both asyncpg and psycopg understand."""
    where = {"host": folder_of(place), "port": PORT}
    return f"postgresql://{NAME}@/{NAME}?{urlencode(where)}"


def accepts(url: str) -> bool:
    """Whether a server accepts connections on the URL's socket. It may be too slow to respond."""
    [folder], [port] = (parse_qs(urlsplit(url).query)[name] for name in ("host", "port"))
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(f"{folder}/.s.PGSQL.{port}")
        except BlockingIOError:  # it has not yet accepted the connections of others
            return True
        except OSError:
            return False
    return True


def owner_url(url: str) -> str:
    """The URL for the owner of the database's objects, who may change everything."""
    return urlunsplit(urlsplit(url)._replace(netloc=f"{OWNER}@"))


def make_folder(place: Place, account: Account) -> Path:
    """A folder without old sockets, with a path that is short and simple enough."""
    found = folder_of(place)
    if found is None or not account.owns_alone(found):
        found = _new_folder(place, account)
    for old in found.glob(".s.PGSQL.*"):
        old.unlink()
    return found


def _new_folder(place: Place, account: Account) -> Path:
    default = place.home / "sockets"
    if len(os.fsencode(default)) <= LONGEST and PLAIN.fullmatch(str(default)):
        account.make_private(default)
        return default
    short = Path(tempfile.mkdtemp(prefix="contentlog-", dir="/tmp"))
    os.chown(short, account.uid, account.gid)
    files.write(place.data / NOTE, f"{short}\n")
    return short


def remove_short_folder(place: Place) -> None:
    """Removes the folder in /tmp after the server has stopped."""
    note = place.data / NOTE
    folder = folder_of(place)
    if note.exists() and folder is not None:
        note.unlink()
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def access_rules(place: Place) -> dict[str, str]:
    """Writes the access rules; returns the server's settings that name their files."""
    rules, names = place.home / "pg_hba.conf", place.home / "pg_ident.conf"
    files.write(rules, f"local all all peer map={NAME}\n", mode=0o644)
    admitted = "".join(
        f'{NAME} "{user}" {role}\n' for user in _admitted(place.data) for role in (NAME, OWNER)
    )
    files.write(names, admitted, mode=0o644)
    return {"hba_file": str(rules), "ident_file": str(names)}


def _admitted(data: Path) -> list[str]:
    owner = data.stat().st_uid
    named = {user.pw_name for user in pwd.getpwall() if user.pw_uid == owner}
    return sorted({"root", current_account().name} | named)
