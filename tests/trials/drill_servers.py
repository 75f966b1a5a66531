"""The drill's servers: an event store with a pgBackRest repository and a synchronous WAL receiver,
and a read model."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager, suppress
from pathlib import Path

from deploy.backup.cluster import ADMINISTRATOR, BackupError, Cluster, account, program
from deploy.backup.pgbackrest import Stanza
from deploy.embedded.programs import Account
from tests.trials.ha_cluster import TrialImpossible, postgres_programs

PRODUCT = Path(__file__).parents[2] / "deploy/backup"
REQUIRED = os.environ.get("CONTENTLOG_BACKUP_TESTS") != "skip" and os.environ.get("CI") == "true"
"""Whether a test fails, instead of being skipped, where Debian's pgbackrest or PostgreSQL is
missing."""
STANZA = "contentlog"
ROLE = "content"
RECEIVER = "receiver"
RULES = "local all all trust\nlocal replication all trust\n"
# The drill switches segments itself, so that writes are lost without a standby.
SETTINGS = {"archive_timeout": "1h", "synchronous_standby_names": RECEIVER, "fsync": "on"}
PLACES = {
    "repo1-path": "repository",
    "log-path": "logs",
    "lock-path": "locks",
    "spool-path": "spool",
}
"""Options of pgBackRest, and the folder for each."""
GRACE = 60.0
"""Seconds for the receiver to stop."""


def check_possible() -> None:
    """Raises TrialImpossible, which names what is missing."""
    try:
        program("pgbackrest")
        account()
    except BackupError as missing:
        raise TrialImpossible(str(missing)) from missing
    postgres_programs()


class Drill:
    """The servers. ``store`` is the event store's cluster, ``model`` the read model's."""

    def __init__(self, home: Path, user: Account) -> None:
        self.home, self.user = home, user
        self.store, self.model = self._cluster("store"), self._cluster("model")
        self.stanza = Stanza(STANZA, home / "pgbackrest.conf", user)
        self._receivers = 0
        self._receiver: subprocess.Popen[bytes] | None = None

    @property
    def received(self) -> Path:
        """The folder to which the receiver writes WAL."""
        return self.home / f"received-{self._receivers}"

    def folder(self, name: str) -> Path:
        """Creates a folder owned by the user who runs the servers."""
        self.user.make_private(self.home / name)
        return self.home / name

    def _cluster(self, name: str) -> Cluster:
        sockets = self.folder(f"{name}-sockets")
        return Cluster(self.home / name, sockets, postgres_programs(), self.user)

    def make(self) -> None:
        """Creates both servers, a database on each, and the stanza. Raises BackupError."""
        for cluster, conf in ((self.store, self._store_conf()), (self.model, "fsync = off\n")):
            cluster.run("initdb", "-D", str(cluster.data), "-E", "UTF8", "-U", ADMINISTRATOR, "-k")
            (cluster.data / "pg_hba.conf").write_text(RULES)
            with (cluster.data / "postgresql.conf").open("a") as file:
                file.write(conf)
        self._write_pgbackrest_conf()
        self.model.start({})
        self.start_store({})
        for cluster in (self.store, self.model):
            for statement in (
                f"CREATE ROLE {ROLE} LOGIN",
                f"CREATE DATABASE {ROLE}",
                f"GRANT CREATE ON DATABASE {ROLE} TO {ROLE}",
            ):
                self._psql(cluster, statement)
        self.stanza.run("stanza-create")

    def _store_conf(self) -> str:
        """The product's postgresql.conf, with this drill's archive command."""
        text = (PRODUCT / "postgresql.conf").read_text()
        command = " ".join(self.stanza.command("archive-push", "%p"))
        settings = {**SETTINGS, "archive_command": command}
        own = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        return f"{text}\n{own}"

    def _write_pgbackrest_conf(self) -> None:
        """The product's pgbackrest.conf, with this drill's folders and passphrase."""
        conf = ConfigParser(interpolation=None)
        conf.read_string((PRODUCT / "pgbackrest.conf").read_text())
        for option, name in PLACES.items():
            conf["global"][option] = str(self.folder(name))
        conf["global"]["repo1-cipher-pass"] = secrets.token_hex(32)
        conf[STANZA]["pg1-path"] = str(self.store.data)
        conf[STANZA]["pg1-socket-path"] = str(self.store.sockets)
        conf[STANZA]["pg1-user"] = ADMINISTRATOR
        assert self.stanza.configuration is not None
        with self.stanza.configuration.open("w") as file:
            conf.write(file, space_around_delimiters=False)
        shutil.chown(self.stanza.configuration, self.user.uid, self.user.gid)

    def start_store(self, settings: dict[str, str]) -> None:
        """Starts the event store and a new receiver. Writes are acknowledged only once the receiver
        has them."""
        self.store.start(settings)
        self._receivers += 1
        self.folder(self.received.name)
        where = self.store.url(ADMINISTRATOR, application_name=RECEIVER)
        slot = ("--slot", RECEIVER)
        self.store.run("pg_receivewal", *slot, "--create-slot", "--if-not-exists", "-d", where)
        command = [str(self.store.programs / "pg_receivewal"), "--synchronous", *slot]
        command += ["--no-password", "-D", str(self.received), "-d", where]
        with (self.home / "receiver.log").open("ab") as log:
            self._receiver = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                user=self.user.uid if self.user.is_other else None,
                group=self.user.gid if self.user.is_other else None,
                extra_groups=[] if self.user.is_other else None,
            )

    def stop_receiver(self) -> None:
        if self._receiver is not None:
            self._receiver.terminate()
            self._receiver.wait(GRACE)

    def destroy(self) -> None:
        """Kills all processes of the event store's server, and removes its folder."""
        postmaster = int((self.store.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for pid in (postmaster, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.store.data)
        self.stop_receiver()

    def stop_and_remove(self) -> None:
        """Stops the event store's server and removes its data, as before a restore to an earlier
        moment."""
        self.store.stop()
        self.stop_receiver()
        shutil.rmtree(self.store.data)

    def restore_command(self) -> str:
        """Returns a command that reads WAL from the archive, or else from the receiver, whose last
        segment is partial."""
        received = f'"{self.received}/%f"'
        pushed = self.stanza.restore_command(self.store.data)
        partial = received.replace("%f", "%f.partial")
        return f'{pushed} || cp {received} "%p" || cp {partial} "%p"'

    def stop(self) -> None:
        for cluster in (self.store, self.model):
            with suppress(BackupError):
                cluster.stop("immediate")
        self.stop_receiver()

    def _psql(self, cluster: Cluster, statement: str) -> None:
        cluster.run("psql", "-q", "-d", cluster.url(ADMINISTRATOR), "-c", statement)


@contextmanager
def drill_servers() -> Iterator[Drill]:
    """Yields the running servers. Raises TrialImpossible, BackupError."""
    check_possible()
    user = account()
    home = Path(tempfile.mkdtemp(prefix="contentlog-drill-"))
    try:
        shutil.chown(home, user.uid, user.gid)
        drill = Drill(home, user)
        try:
            drill.make()
            yield drill
        finally:
            drill.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)
