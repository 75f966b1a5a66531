"""Locks, small files and private folders, in folders that other users may own.

Root works in folders of other users here, so nothing is opened through a link that they may have
created, and files that root leaves in such a folder belong to the folder's owner.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.embedded.errors import EmbeddedPostgresError

SYSTEM_FOLDERS = (Path("/var/lib/contentlog"), Path("/var/tmp/contentlog"))  # noqa: S108 - checked below
"""Where root keeps files that the server's user must reach: a clone or a virtual environment below
/root is closed to every other user, and opening it would open it to all of them."""


def open_own(path: Path, flags: int) -> int:
    """Opens or creates a file of mode 0600. The descriptor is not inherited."""
    opened = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(opened, owner.st_uid, owner.st_gid)
    return opened


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """Writes the file atomically, replacing an existing one."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    opened = open_own(draft, os.O_WRONLY | os.O_EXCL)
    try:
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            os.fchmod(opened, mode)
            file.write(text)
            file.flush()
            os.fsync(opened)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Makes a rename within the folder durable."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock exclusively; waits for it."""
    opened = open_own(path, os.O_RDWR)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def share(path: Path) -> int:
    """Holds the lock together with others, for as long as the descriptor is open."""
    opened = open_own(path, os.O_RDWR)
    fcntl.flock(opened, fcntl.LOCK_SH)
    return opened


def take(path: Path) -> int | None:
    """The lock as a descriptor, or None if another process has it. Every process that inherits the
    descriptor holds it, until the last of them has ended."""
    opened = open_own(path, os.O_RDWR)
    if is_last(opened):
        return opened
    os.close(opened)
    return None


def is_last(opened: int) -> bool:
    """Takes the lock of a descriptor exclusively if no other process holds it; otherwise releases a
    shared one."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def protected_folder(candidates: tuple[Path, ...]) -> Path:
    """The first of these folders that can be created, or that only this user can write."""
    for folder in candidates:
        if _make(folder) and _is_ours(folder):
            return folder
    names = " or ".join(str(folder) for folder in candidates)
    raise EmbeddedPostgresError(
        f"root cannot write in {names}, where PostgreSQL's own user could reach its files: "
        "make root the owner of one of them, or run contentlog as a user other than root"
    )


def _make(folder: Path) -> bool:
    try:
        folder.mkdir()
        folder.chmod(0o711)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def _is_ours(folder: Path) -> bool:
    """A link or another user's folder might contain programs that are not PostgreSQL's."""
    found = folder.lstat()
    ours = folder.is_dir() and not folder.is_symlink() and found.st_uid == os.geteuid()
    return ours and not found.st_mode & 0o022 and os.access(folder, os.W_OK)
