"""A machine that runs Debian's systemd as the first process of its own namespaces, as root.

Its root file system is an overlay on this machine's: its writes stay in memory and end with it. It
shares this machine's network. It has PostgreSQL 15, and contentlog installed as documented.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.processes import free_port

ROOT = Path(__file__).parents[2]
POSTGRESQL = Path("/usr/lib/postgresql/15/bin")
SYSTEMD = "/lib/systemd/systemd"
PACKAGES = ("systemd", "postgresql-15", "python3-venv")
# Debian's programs only: because of ProtectHome, units cannot use a Python in a home folder.
PATH = "/usr/sbin:/usr/bin"
SETTINGS = Path("/etc/contentlog/settings.env")
# Seconds for the machine to start, and for a command on it.
PATIENCE = 300
START = """
set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd "$1/root"
mount -t tmpfs -o mode=755 tmpfs dev
mkdir -m 1777 dev/shm
mkdir dev/pts
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
# Settings of the kernel are those of this machine.
mount --bind -o ro proc/sys proc/sys
mount -t tmpfs tmpfs sys/fs/cgroup
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount --bind "$2" mnt
rm -rf etc/systemd/system/*.wants
pivot_root . srv
umount -l srv
exec env -i container=test PATH="$4" "$3" --unit=basic.target --show-status=no
"""
DATABASE = """
[Service]
Type=notify
User=postgres
RuntimeDirectory=database
ExecStartPre={bin}/initdb --auth=trust --no-sync /run/database/data
ExecStart={bin}/postgres -D /run/database/data -p {port} -c unix_socket_directories= -c fsync=off
"""
INSTALL = """
python3 -m venv /opt/contentlog
cd /mnt/deploy/requirements
/opt/contentlog/bin/pip install --quiet --require-hashes -r build.txt -r runtime.txt
/opt/contentlog/bin/pip install --quiet --no-deps --no-build-isolation /mnt
cp -r /mnt/deploy/systemd/* /etc/systemd/system/
"""


def skip_reason() -> str | None:
    """Returns the reason why no such machine can be started here, or None."""
    absent = [package for package in PACKAGES if not _is_installed(package)]
    if os.geteuid() != 0:
        absent.append("root")
    if _control_groups() is None:
        absent.append("control groups of version 2")
    return f"systemd cannot be started without {', '.join(absent)}" if absent else None


def _is_installed(package: str) -> bool:
    return (
        shutil.which("dpkg") is not None
        and subprocess.run(["dpkg", "-s", package], capture_output=True).returncode == 0
    )


def _control_groups() -> Path | None:
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    return next((Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)


class Machine:
    """A running machine. ``port`` is its database's. contentlog has no settings yet."""

    def __init__(self, init: int) -> None:
        namespaces = ("--mount", "--pid", "--uts", "--ipc", "--cgroup")
        self._enter = ("nsenter", f"--target={init}", *namespaces)
        self.port = free_port()
        self.database_url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def run(self, *command: str | Path, stdin: str = "") -> str:
        done = self.attempt(*command, stdin=stdin)
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout

    def attempt(self, *command: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._enter, *command],
            env={**os.environ, "PATH": PATH},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def systemctl(self, *arguments: str) -> str:
        return self.run("systemctl", *arguments)

    def value(self, unit: str, name: str) -> str:
        """Returns a property of a unit."""
        return self.systemctl("show", "--value", f"--property={name}", unit).strip()

    def contentlog(self, *arguments: str, stdin: str = "") -> str:
        """Runs contentlog as root, with the units' settings."""
        command = f'set -a && . {SETTINGS} && exec /opt/contentlog/bin/contentlog "$@"'
        return self.run("sh", "-c", command, "sh", *arguments, stdin=stdin)

    def write(self, file: Path, text: str) -> None:
        self.run(
            "sh",
            "-c",
            'mkdir -p "$(dirname "$0")" && install -m 600 /dev/stdin "$0"',
            file,
            stdin=text,
        )

    def install(self, **settings: str) -> None:
        """Installs contentlog as documented, and a unit for the database. Starts neither."""
        self.write(
            Path("/etc/systemd/system/database.service"),
            DATABASE.format(bin=POSTGRESQL, port=self.port),
        )
        self.run("sh", "-euc", INSTALL)
        self.write(SETTINGS, "".join(f"{name}={value}\n" for name, value in settings.items()))
        self.systemctl("daemon-reload")

    def wait_until_it_runs(self) -> None:
        end = time.monotonic() + PATIENCE
        while (state := self.attempt("systemctl", "is-system-running").stdout.strip()) != "running":
            assert time.monotonic() < end, f"systemd is {state!r}"
            time.sleep(0.1)


@contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    """Starts a machine. ``folder`` must not exist."""
    folder.mkdir()
    groups = _control_groups()
    assert groups is not None
    group = groups / f"contentlog-test-{os.getpid()}"
    group.mkdir()
    own = ("--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child")
    enter = f'echo $$ >"{group}/cgroup.procs" && exec "$@"'
    start = ("unshare", *own, "sh", "-c", START, "sh", folder, ROOT, SYSTEMD, PATH)
    with (folder.with_suffix(".log")).open("wb") as log:
        process = subprocess.Popen(
            ["sh", "-c", enter, "sh", *start], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        started = Machine(_child_of(process))
        started.wait_until_it_runs()
        yield started
    finally:
        process.kill()
        process.wait()
        remove_group(group)


def _child_of(process: subprocess.Popen[bytes]) -> int:
    file = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    end = time.monotonic() + PATIENCE
    while not (children := file.read_text().split()):
        assert process.poll() is None, "see the log"
        assert time.monotonic() < end
        time.sleep(0.05)
    return int(children[0])


def remove_group(group: Path) -> None:
    """Removes a control group. Its processes may take a moment to end after the first one."""
    end = time.monotonic() + PATIENCE
    while group.exists() and time.monotonic() < end:
        for folder, _, _ in os.walk(group, topdown=False):
            try:
                Path(folder).rmdir()
            except OSError:
                time.sleep(0.05)
