"""Runs a Compose file with Debian's docker.io and docker-compose, as root.

The engine has its own process, network and mount namespaces: it changes nothing on this machine,
and everything it started ends with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

from deploy.embedded.programs import LIBRARIES, PACKAGE
from tests.e2e.container import Image
from tests.e2e.machine import remove_group

PROGRAMS = (
    *("dockerd", "docker", "docker-compose", "haproxy"),
    *("unshare", "nsenter", "ip", "curl", "openssl"),
)
WANTED = "CONTENTLOG_TEST_COMPOSE"
PROJECT = "contentlog"
CONTROL_GROUPS = Path("/sys/fs/cgroup")
# Seconds for the engine to start, and for a Compose command.
PATIENCE = 300
DEPLOY = Path(__file__).parents[2] / "deploy"
IMAGES = Path(__file__).parent / "images"
SECRET = "a-secret-of-the-compose-tests"
WORKSPACE = f"""
workspace: acme
name: Acme
environments: [production]
keys:
  - name: site
    permissions: [content.view, content.edit]
    secret: {SECRET}
contentTypes:
  - name: Posts
    slug: posts
"""


def skip_reason() -> str | None:
    """Returns the reason why no Compose file can be run here, or None."""
    if os.environ.get(WANTED) != "1":
        return f"it takes minutes and starts a Docker engine: set {WANTED}=1"
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"no Compose file can be run without {', '.join(absent)}" if absent else None


def make_images(image: Image, folder: Path) -> None:
    """Writes contentlog's image, and stand-ins for the public images, into the folder."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    for file in (package, package.with_name(LIBRARIES), IMAGES / "start-postgres"):
        (shutil.copytree if file.is_dir() else shutil.copy)(file, folder / file.name)
    image.build("postgres:18", IMAGES / "postgres.Containerfile", folder)
    image.pack("packages", "haproxy")
    image.build("haproxy:3.2", IMAGES / "haproxy.Containerfile", folder)
    for name in ("contentlog", "postgres:18", "haproxy:3.2"):
        image.save(name, folder / f"{name.partition(':')[0]}.image")


class Engine:
    """A Docker engine in ``folder``, and the project described by its Compose file."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self._folder = folder
        self._process = process
        self._file = folder / "deploy/container/compose.yaml"
        self._environment = {
            **os.environ,
            "DOCKER_HOST": f"unix://{folder}/socket",
            "POSTGRES_PASSWORD": "a/pass?word#of[tests]@100%",
        }

    def docker(self, *command: str | Path) -> str:
        return self._run("docker", *command)

    def compose(self, *command: str, stdin: str = "") -> str:
        return self._run("docker-compose", "-p", PROJECT, "-f", self._file, *command, stdin=stdin)

    def load(self, *files: Path) -> None:
        """Loads images from files, and deletes the files."""
        for file in files:
            self.docker("load", "--quiet", "--input", file)
            file.unlink()

    def start(self) -> None:
        """Starts the services with a new certificate, and creates a workspace."""
        files = self._folder / "deploy"
        shutil.copytree(DEPLOY / "container", files / "container")
        shutil.copytree(DEPLOY / "proxy", files / "proxy")
        certificate, key = self._folder / "certificate", self._folder / "key"
        self._run(
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"),
            *("-keyout", key, "-out", certificate),
        )
        text = certificate.read_text() + key.read_text()
        (files / "container/tls.pem").write_text(text)
        self._file.write_text(without_name(self._file.read_text()))
        self.compose("up", "--no-build", "--detach")
        keep = "cat >/tmp/acme.yaml && exec contentlog apply /tmp/acme.yaml"
        self.compose("exec", "-T", "api-1", "sh", "-c", keep, stdin=WORKSPACE)

    def kill(self, container: str) -> None:
        """Kills all processes in the container except init; the engine restarts the container."""
        self.docker("exec", container, "sh", "-c", "kill -9 -1")

    def ask(self, path: str, *arguments: str) -> tuple[int, str]:
        """Sends a request to the published port; returns the status and the body."""
        network = ("nsenter", f"--net=/proc/{self._process.pid}/ns/net")
        key = ("--header", f"Authorization: Bearer {SECRET}")
        curl = ("curl", "-sk", "--max-time", "30", "--write-out", "\\n%{http_code}", *key)
        body, _, status = self._run(
            *network, *curl, *arguments, f"https://localhost{path}"
        ).rpartition("\n")
        return int(status), body

    def exit_codes(self) -> dict[str, int]:
        """The exit code of each container."""
        names = self.docker("ps", "--all", "--format", "{{.Names}}").split()
        template = "{{.State.ExitCode}}"
        return {name: int(self.docker("inspect", "--format", template, name)) for name in names}

    def _run(self, *command: str | Path, stdin: str = "") -> str:
        done = subprocess.run(
            command,
            env=self._environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout


def without_name(file: str) -> str:
    """Removes the ``name`` key, which Debian's Compose (1.29) does not support."""
    return "".join(line for line in file.splitlines(keepends=True) if not line.startswith("name:"))


@contextmanager
def engine(folder: Path) -> Iterator[Engine]:
    """Starts an engine with its files in ``folder``; stops it and everything it runs at the end."""
    group = f"contentlog-test-{os.getpid()}"
    # A socket's path is limited to 107 bytes.
    execution = mkdtemp(prefix="engine-")
    options = (
        f"--data-root={folder}/data --exec-root={execution} --pidfile={folder}/pid "
        f"--host=unix://{folder}/socket --bridge=none "
        f"--exec-opt=native.cgroupdriver=cgroupfs --cgroup-parent=/{group}"
    )
    own = ("--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["unshare", *own, "sh", "-c", f"ip link set lo up && exec dockerd {options}"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        started = Engine(folder, process)
        _wait_until_it_answers(folder, process)
        yield started
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(execution, ignore_errors=True)
        # There is one in each hierarchy.
        for made in (*CONTROL_GROUPS.glob(group), *CONTROL_GROUPS.glob(f"*/{group}")):
            remove_group(made)


def _wait_until_it_answers(folder: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        if "API listen on" in (folder / "log").read_text():
            return
        time.sleep(0.2)
    raise AssertionError((folder / "log").read_text()[-4000:])
