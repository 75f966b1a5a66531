"""The cluster of the trial: each node has a network namespace with etcd, Patroni and PostgreSQL.

It needs root, iproute2, and Debian's patroni, etcd-server and postgresql.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from string import Template
from typing import Any

ACCOUNT = "postgres"
AS_ACCOUNT = ("setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups")
NODES = 3
PREFIX = "10.87.83"
BRIDGE = "contentlog-ha"
READY = 90.0
"""Seconds for a cluster to start, or to become whole again."""
DATABASE = "content"
_LEADER = ("master", "primary")
"""The leader's role: before and since Patroni 4."""
PROGRAMS = ("patroni", "etcd", "ip", "setpriv")


class TrialImpossible(Exception):
    """This machine cannot run the trial; the text says what is missing."""


def check_possible() -> None:
    """Raises TrialImpossible."""
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
    """The folder of the newest PostgreSQL of Debian. Raises TrialImpossible."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise TrialImpossible(
            "no PostgreSQL under /usr/lib/postgresql (apt-get install postgresql)"
        )
    return found[-1].parent


class Node:
    """One member. Its processes are killed, frozen or cut off together, as those of a machine."""

    def __init__(self, number: int, home: Path, password: str) -> None:
        self.name = f"node{number}"
        self.address = f"{PREFIX}.{10 + number}"
        self._namespace = f"{BRIDGE}-{number}"
        self._link = f"clha{number}"
        self._home = home / self.name
        self._password = password
        self._inside = ("ip", "netns", "exec", self._namespace)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def make(self) -> None:
        self._home.mkdir()
        shutil.chown(self._home, ACCOUNT, ACCOUNT)
        template = Template((Path(__file__).parent / "patroni.yml").read_text())
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
        """Starts what does not run."""
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
            *("--initial-cluster", peers, "--heartbeat-interval", "200"),
            *("--election-timeout", "2000", "--logger", "zap"),
            "--enable-v2",
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
        self._signal(signal.SIGKILL)
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
        """What Patroni says of its own PostgreSQL, empty if it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{self.address}:8008/patroni", timeout=1) as found:
                status: dict[str, Any] = json.load(found)
                return status
        except (OSError, ValueError):
            return {}

    def remove(self) -> None:
        self.thaw()
        self.kill()
        # The namespace itself is removed later, when its last process has ended.
        ip("link", "delete", self._link)
        ip("netns", "delete", self._namespace)

    def _signal(self, number: int) -> None:
        """To every process of the namespace, which has no others."""
        for pid in ip("netns", "pids", self._namespace).split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), number)


class Cluster:
    def __init__(self, nodes: list[Node], password: str) -> None:
        self.nodes = nodes
        self.password = password
        hosts = ",".join(f"{node.address}:5432" for node in nodes)
        self.owner_url = (
            f"postgresql://postgres:{password}@{hosts}/{DATABASE}?target_session_attrs=read-write"
        )
        self.url = self.owner_url.replace("postgres:", "content:", 1)

    def wait_until_whole(self) -> Node:
        """Waits for a leader with two standbys that follow it, one of them synchronous, and returns
        the leader."""
        return until(self._leader_of_all)

    def _leader_of_all(self) -> Node | None:
        """By what each node says of itself: what others know of a node may be older."""
        found = {node: node.status() for node in self.nodes}
        leaders = [node for node, one in found.items() if one.get("role") in _LEADER]
        standbys = [one for one in found.values() if one.get("role") == "replica"]
        if len(leaders) != 1 or {one["state"] for one in standbys} != {"running"}:
            return None
        followers = found[leaders[0]].get("replication", [])
        followed = [one["state"] for one in followers] == ["streaming"] * (NODES - 1)
        is_synchronous = any(one["sync_state"] == "sync" for one in followers)
        return leaders[0] if followed and is_synchronous else None


def until(find: Callable[[], Node | None], seconds: float = READY) -> Node:
    """Waits until there is one. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while (found := find()) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:.0f} s")
        time.sleep(0.2)
    return found


def ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
    return done.stdout


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Started and whole, with an empty database. Raises TrialImpossible."""
    check_possible()
    home = Path(tempfile.mkdtemp(prefix="contentlog-ha-"))
    home.chmod(0o755)
    password = secrets.token_hex(12)
    nodes = [Node(number, home, password) for number in range(NODES)]
    made: list[Node] = []
    ip("link", "add", BRIDGE, "type", "bridge")
    try:
        ip("addr", "add", f"{PREFIX}.1/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for node in nodes:
            made.append(node)
            node.make()
            node.start()
        found = Cluster(nodes, password)
        found.wait_until_whole()
        yield found
    finally:
        for node in made:
            with suppress(subprocess.CalledProcessError):
                node.remove()
        ip("link", "delete", BRIDGE)
        shutil.rmtree(home, ignore_errors=True)
