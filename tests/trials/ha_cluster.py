"""The trial's cluster: each node is a network namespace with etcd, Patroni and PostgreSQL.

It needs root, iproute2, and Debian's patroni, etcd-server and postgresql.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from string import Template
from typing import Any

from msgspec import Struct

ACCOUNT = "postgres"
AS_ACCOUNT = ("setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups")
NODES = 3
PREFIX = "10.87.83"
BRIDGE = "contentlog-ha"
PATRONI = Path(__file__).parents[2] / "deploy/ha/patroni.yml"
HOME = Path("/var/lib/contentlog-ha")
"""The folder of a running trial. Only root may write to it."""
READY = 180.0
"""Seconds for a cluster to start or recover, with a margin for a busy machine."""
DATABASE = "content"
_LEADER = ("master", "primary")
"""The leader's role before Patroni 4, and since."""
PROGRAMS = ("patroni", "etcd", "ip", "setpriv")


class TrialImpossible(Exception):
    """This machine cannot run the trial. The message says what is missing."""


def check_possible() -> None:
    """Checks the programs and permissions. Raises TrialImpossible."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        raise TrialImpossible(
            f"missing programs: {', '.join(missing)} "
            "(on Debian: apt-get install patroni etcd-server iproute2 postgresql)"
        )
    if os.getuid() != 0:
        raise TrialImpossible("network namespaces need root")
    postgres_programs()
    done = subprocess.run(["ip", "netns", "list"], capture_output=True, check=False)
    if done.returncode:
        raise TrialImpossible("this machine has no network namespaces")


def postgres_programs() -> Path:
    """The folder of Debian's newest PostgreSQL. Raises TrialImpossible."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise TrialImpossible(
            "no PostgreSQL under /usr/lib/postgresql (apt-get install postgresql)"
        )
    return found[-1].parent


class Node:
    """A member of the cluster. Its processes are killed, frozen or cut off together, as on one
    machine."""

    def __init__(self, number: int, password: str) -> None:
        self.name = f"node{number}"
        self.address = f"{PREFIX}.{10 + number}"
        self._namespace = f"{BRIDGE}-{number}"
        self._link = f"clha{number}"
        self._home = HOME / self.name
        self._password = password
        self._inside = ("ip", "netns", "exec", self._namespace)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def make(self) -> None:
        self._home.mkdir()
        shutil.chown(self._home, ACCOUNT, ACCOUNT)
        template = Template(PATRONI.read_text())
        text = template.substitute(
            name=self.name,
            address=self.address,
            network=f"{PREFIX}.0/24",
            etcd=", ".join(f"'{PREFIX}.{10 + n}:2379'" for n in range(NODES)),
            data=self._home / "data",
            home=self._home,
            programs=postgres_programs(),
            password=self._password,
        )
        (self._home / "patroni.yml").write_text(text)
        ip("netns", "add", self._namespace)
        ip(
            "link",
            "add",
            self._link,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            self._namespace,
        )
        ip("link", "set", self._link, "master", BRIDGE, "up")
        for arguments in (
            f"addr add {self.address}/24 dev eth0",
            "link set eth0 up",
            "link set lo up",
        ):
            ip("-n", self._namespace, *arguments.split())

    def start(self) -> None:
        """Starts those processes that are not running."""
        peers = ",".join(f"node{n}=http://{PREFIX}.{10 + n}:2380" for n in range(NODES))
        here = f"http://{self.address}"
        self._start(
            "etcd",
            *("--name", self.name, "--data-dir", str(self._home / "etcd")),
            *("--listen-client-urls", f"{here}:2379", "--advertise-client-urls", f"{here}:2379"),
            *(
                "--listen-peer-urls",
                f"{here}:2380",
                "--initial-advertise-peer-urls",
                f"{here}:2380",
            ),
            *("--initial-cluster", peers, "--logger", "zap", "--enable-v2"),
            # Otherwise a member that returns after a cut makes the others elect again, and the new
            # PostgreSQL leader stops itself because etcd does not respond.
            "--pre-vote",
        )
        self._start("patroni", str(self._home / "patroni.yml"))

    def _start(self, program: str, *arguments: str) -> None:
        running = self._processes.get(program)
        if running is not None and running.poll() is None:
            return
        with (self._home / f"{program}.log").open("ab") as log:
            self._processes[program] = subprocess.Popen(
                [*self._inside, *AS_ACCOUNT, program, *arguments],
                stdout=log,
                stderr=log,
                cwd=self._home,
                start_new_session=True,
            )

    def kill(self) -> None:
        while self._signal(signal.SIGKILL):
            time.sleep(0.02)
        for process in self._processes.values():
            process.wait()

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def cut_off(self) -> None:
        ip("link", "set", self._link, "down")

    def reconnect(self) -> None:
        ip("link", "set", self._link, "up")

    def status(self) -> dict[str, Any]:
        """Patroni's status of its PostgreSQL, or an empty dict if Patroni does not respond."""
        try:
            with urllib.request.urlopen(f"http://{self.address}:8008/patroni", timeout=1) as found:
                status: dict[str, Any] = json.load(found)
                return status
        except (OSError, ValueError):
            return {}

    def remove(self) -> None:
        """Removes the node except for its folder, including remains of an earlier trial."""
        with suppress(subprocess.CalledProcessError):
            self.thaw()
            self.kill()
        # The kernel removes the namespace itself when its last process ends.
        for arguments in (f"link delete {self._link}", f"netns delete {self._namespace}"):
            with suppress(subprocess.CalledProcessError):
                ip(*arguments.split())

    def _signal(self, number: int) -> int:
        """Sends the signal to every process in the namespace, and returns their number."""
        pids = ip("netns", "pids", self._namespace).split()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), number)
        return len(pids)


class Lead(Struct, frozen=True):
    """``node`` is the primary. ``is_followed`` is true if a synchronous standby streams from it."""

    node: Node
    is_followed: bool


class Cluster:
    def __init__(self, nodes: list[Node], password: str) -> None:
        self.nodes = nodes
        self.password = password
        hosts = ",".join(f"{node.address}:5432" for node in nodes)
        self.owner_url = (
            f"postgresql://postgres:{password}@{hosts}/{DATABASE}?target_session_attrs=read-write"
        )
        self.url = self.owner_url.replace("postgres:", "content:", 1)

    async def wait_until_whole(self) -> Node:
        """Waits for a leader with two standbys, one of them synchronous, and returns the leader.
        Raises TimeoutError."""
        async with asyncio.timeout(READY):
            while (leader := await asyncio.to_thread(self._leader_of_all)) is None:
                await asyncio.sleep(0.2)
        return leader

    def lead(self, without: Node) -> Lead | None:
        """Returns the node that leads instead of ``without``, or None."""
        for node in self.nodes:
            if node is not without and (status := node.status()).get("role") in _LEADER:
                return Lead(node, _is_synchronous(status))
        return None

    def _leader_of_all(self) -> Node | None:
        """Asks each node about itself, because other nodes' information may be outdated."""
        found = {node: node.status() for node in self.nodes}
        leaders = [node for node, one in found.items() if one.get("role") in _LEADER]
        standbys = [one for one in found.values() if one.get("role") == "replica"]
        if len(leaders) != 1 or {one["state"] for one in standbys} != {"running"}:
            return None
        followers = found[leaders[0]].get("replication", [])
        followed = [one["state"] for one in followers] == ["streaming"] * (NODES - 1)
        return leaders[0] if followed and _is_synchronous(found[leaders[0]]) else None


def _is_synchronous(status: dict[str, Any]) -> bool:
    followers = status.get("replication", [])
    return any(one["state"] == "streaming" and one["sync_state"] == "sync" for one in followers)


def ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
    return done.stdout


@asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    """Starts a complete cluster with an empty database. Raises TrialImpossible."""
    check_possible()
    password = secrets.token_hex(12)
    nodes = [Node(number, password) for number in range(NODES)]
    with _home(nodes):
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{PREFIX}.1/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for node in nodes:
            node.make()
            node.start()
        found = Cluster(nodes, password)
        await found.wait_until_whole()
        yield found


@contextmanager
def _home(nodes: list[Node]) -> Iterator[None]:
    """Locks the trial's folder. Removes the remains of a killed trial at the start, and its own at
    the end. Raises TrialImpossible if another trial is running."""
    HOME.mkdir(exist_ok=True)
    lock = os.open(HOME, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TrialImpossible("another trial is running") from error
        _remove(nodes)
        try:
            yield
        finally:
            _remove(nodes)
            HOME.rmdir()
    finally:
        os.close(lock)


def _remove(nodes: list[Node]) -> None:
    for node in nodes:
        node.remove()
    with suppress(subprocess.CalledProcessError):
        ip("link", "delete", BRIDGE)
    for folder in HOME.iterdir():
        shutil.rmtree(folder)
