"""The operating-system user whom PostgreSQL's programs run as.

PostgreSQL refuses to run as root. Root therefore lends it another user, and keeps for itself
what that user need not change: the locks, the log, the access rules.
"""

import os
import pwd
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.embedded.errors import EmbeddedPostgresError

PLAIN = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}


@dataclass(frozen=True)
class Account:
    """A user of this machine; `is_lent` where it is not the one we run as."""

    name: str
    uid: int
    gid: int

    @property
    def is_lent(self) -> bool:
        return self.uid != os.geteuid()

    def make_private(self, folder: Path) -> None:
        """A folder that nobody but this user (and root) can enter."""
        folder.mkdir(mode=0o700)
        if self.is_lent:
            os.chown(folder, self.uid, self.gid, follow_symlinks=False)

    def owns_alone(self, folder: Path) -> bool:
        """Whether this is such a folder: a link or a stranger's folder of that name is not."""
        try:
            found = folder.lstat()
        except OSError:
            return False
        return found.st_uid == self.uid and found.st_mode == 0o040700

    def can_enter(self, folder: Path) -> bool:
        """Asks the kernel, as that user: modes of parents, ACLs and mounts all count."""
        question = ["/bin/sh", "-c", 'test -x "$0"', str(folder)]
        return self.run(question).returncode == 0

    def run(
        self,
        command: list[str],
        *,
        said: str = "",
        keep: tuple[int, ...] = (),
        log: int | None = None,
        environment: Mapping[str, str] = {},
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program as this user, in a session of its own, which Ctrl-C does not reach.

        `said` is its input, `keep` the descriptors it inherits; its output goes to `log` if given
        and into the result otherwise. Our own environment is not handed on, so that PGOPTIONS or
        a locale change nothing. Raises EmbeddedPostgresError if it cannot be run at all.
        """
        try:
            return self._run(command, said, keep, log, {**PLAIN, **environment})
        except PermissionError as error:
            raise EmbeddedPostgresError(
                f"{command[0]} cannot be run as the user {self.name} ({error.strerror}): "
                "run contentlog as a user who is not root and who can read its installation"
            ) from error

    def _run(
        self,
        command: list[str],
        said: str,
        keep: tuple[int, ...],
        log: int | None,
        environment: dict[str, str],
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - the programs are ours, no shell reads the arguments
            command,
            input=said,
            stdout=subprocess.PIPE if log is None else log,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            cwd="/",
            env=environment,
            pass_fds=keep,
            start_new_session=True,
            user=self.uid if self.is_lent else None,
            group=self.gid if self.is_lent else None,
            extra_groups=[] if self.is_lent else None,
        )


def our_own() -> Account:
    """The user we run as. Raises EmbeddedPostgresError where that user has no name."""
    return _by_id(os.geteuid())


def for_server(cluster: Path | None, run_as: str) -> Account:
    """Whom the server of this cluster runs as: ourselves, and as root its owner or `run_as`."""
    if os.geteuid() != 0:
        return our_own()
    owner = cluster.stat().st_uid if cluster and cluster.is_dir() else 0
    return _by_id(owner) if owner != 0 else _by_name(run_as)


def _by_id(uid: int) -> Account:
    try:
        found = pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedPostgresError(
            f"user id {uid} has no name on this machine, and PostgreSQL needs one: "
            "add a user with this id, or run contentlog as another"
        ) from None
    return Account(found.pw_name, found.pw_uid, found.pw_gid)


def _by_name(name: str) -> Account:
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise EmbeddedPostgresError(
            f"PostgreSQL does not run as root, and there is no user {name} to lend it: "
            "add that user, or run contentlog as a user who is not root"
        ) from None
    return Account(found.pw_name, found.pw_uid, found.pw_gid)
