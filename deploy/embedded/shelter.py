"""Folders outside of private ones, for what the lent user of a server must reach.

Used by root alone: a clone or a virtual environment below /root is closed to every other user,
and opening it would open it for all of them.
"""

import os
from pathlib import Path

from deploy.embedded.errors import EmbeddedPostgresError

SHELTERS = (Path("/var/lib/contentlog"), Path("/var/tmp/contentlog"))  # noqa: S108 - checked below


def shelter(candidates: tuple[Path, ...]) -> Path:
    """The first of these folders that can be made, or that is ours alone to write in."""
    for folder in candidates:
        if _make(folder) and _is_ours(folder):
            return folder
    names = " or ".join(str(folder) for folder in candidates)
    raise EmbeddedPostgresError(
        f"root cannot write in {names}, where PostgreSQL's own user could reach its files: "
        "make one of them a folder of root's, or run contentlog as a user who is not root"
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
    """A link or a stranger's folder might hold programs that are not PostgreSQL's."""
    found = folder.lstat()
    ours = folder.is_dir() and not folder.is_symlink() and found.st_uid == os.geteuid()
    return ours and not found.st_mode & 0o022 and os.access(folder, os.W_OK)
