"""Locks and small files in a folder which another user may own.

Root works in folders of other users here, so nothing is opened through a link that they may
have laid, and what root leaves in such a folder belongs to the folder's owner.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def open_own(path: Path, flags: int) -> int:
    """Opens or creates a file of mode 0600. The descriptor is not inherited."""
    opened = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(opened, owner.st_uid, owner.st_gid)
    return opened


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """Puts the text there in one step, in place of whatever had that name."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    opened = open_own(draft, os.O_WRONLY | os.O_EXCL)
    with os.fdopen(opened, "w", encoding="utf-8") as file:
        os.fchmod(opened, mode)
        file.write(text)
        file.flush()
        os.fsync(opened)
    draft.replace(path)


def sync_folder(folder: Path) -> None:
    """Makes a rename within the folder outlast a power cut."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock alone; waits for it."""
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


def is_last(opened: int) -> bool:
    """Gives up a shared lock and says whether nobody else held it; if so it is ours alone."""
    return _taken(opened)


def take(path: Path) -> int | None:
    """The lock as a descriptor, or None where somebody has it.

    It is held by every process that inherits the descriptor, until the last of them is gone.
    """
    opened = open_own(path, os.O_RDWR)
    if _taken(opened):
        return opened
    os.close(opened)
    return None


def _taken(opened: int) -> bool:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
