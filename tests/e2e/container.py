"""Builds the image of deploy/container with Debian's buildah, and runs it with runc, as root.

A base image made from this machine's Debian packages replaces the public Python image.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = ("buildah", "runc", "apt-cache", "dpkg")
PACKAGES = ("python3-venv", "dash", "coreutils")
RELATIONS = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
# These are links into /usr.
MERGED = ("bin", "lib", "lib64", "sbin")
UNUSED = ("/usr/share/doc/", "/usr/share/man/", "/usr/share/locale/")
# These files let pip reach PyPI from this machine.
PYPI = ("/etc/pip.conf", "/etc/ssl/certs")
MOUNTS = [
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]},
    {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},  # noqa: S108
]
PATIENCE = 600


def skip_reason() -> str | None:
    """Returns the reason why no image can be built here, or None."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if os.geteuid() != 0:
        absent.append("root")
    elif not absent and subprocess.run(["dpkg", "-s", *PACKAGES], capture_output=True).returncode:
        absent.append(" or ".join(PACKAGES))
    return f"no image can be built without {', '.join(absent)}" if absent else None


def lines(*command: str | Path) -> list[str]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout.splitlines()


def pack(file: Path, *names: str) -> None:
    """Writes a root file system with the packages and their dependencies, copied from this
    machine."""
    without = [f"--no-{relation}" for relation in RELATIONS]
    found = lines("apt-cache", "depends", "--recurse", "--installed", *without, *names)
    # A dependency with alternatives also lists packages that are not installed.
    installed = set(lines("dpkg-query", "--show", "--showformat=${Package}\\n"))
    packages = {line for line in found if line[:1].isalnum()} & installed
    with tarfile.open(file, "w") as base:
        for name in MERGED:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            base.addfile(link)
        for path in sorted(set(lines("dpkg", "-L", *sorted(packages)))):
            first = path.split("/")[1] if path.startswith("/") else ""
            if not first or path[1:] in MERGED or path.startswith(UNUSED):
                continue
            if os.path.lexists(path):
                base.add(path, f"usr{path}" if first in MERGED else path[1:], recursive=False)


class Image:
    """A built image, mounted at ``root``. ``config`` has its user, environment and command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # The base has Python and a shell, but no compiler and no installer.
        self.pack("base", *PACKAGES)
        self.build("contentlog", ROOT / "deploy/container/Containerfile", ROOT)
        self.root = self._buildah("mount", self._buildah("from", "contentlog"))
        inspected = self._buildah("inspect", "--type=image", "contentlog")
        self.config = json.loads(inspected)["OCIv1"]["config"]

    def pack(self, name: str, *packages: str) -> None:
        """Makes an image from packages of this machine."""
        pack(self._folder / "packages.tar", *packages)
        scratch = self._buildah("from", "scratch")
        self._buildah("add", "--quiet", scratch, str(self._folder / "packages.tar"), "/")
        self._buildah("commit", "--quiet", scratch, name)
        self._buildah("rm", scratch)

    def build(self, name: str, file: Path, context: Path) -> None:
        """Builds a Containerfile. ``context`` is the folder from which it copies."""
        volumes = [f"--volume={path}:{path}:ro" for path in PYPI if Path(path).exists()]
        self._buildah(
            *("build", "--quiet", "--isolation=chroot", "--network=host", *volumes),
            *("--build-arg=BASE=localhost/base", f"--file={file}", f"--tag={name}", str(context)),
        )

    def save(self, name: str, file: Path) -> None:
        """Writes an image that ``docker load`` can read."""
        self._buildah("push", "--quiet", f"localhost/{name}", f"docker-archive:{file}:{name}")

    def _buildah(self, *arguments: str) -> str:
        store = (f"--root={self._folder}/store", f"--runroot={self._folder}/run")
        return "\n".join(lines("buildah", *store, "--storage-driver=vfs", *arguments))

    @contextmanager
    def container(self, name: str, *command: str, **environment: str) -> Iterator[Container]:
        """Runs ``contentlog COMMAND`` with the image's user and environment, on a read-only root
        file system, without capabilities, on this machine's network."""
        bundle = self._folder / name
        bundle.mkdir()
        user, group = map(int, self.config["User"].split(":"))
        variables = [f"{key}={value}" for key, value in environment.items()]
        process = {
            "user": {"uid": user, "gid": group},
            "args": [*self.config["Entrypoint"], *command],
            "env": [*self.config["Env"], *variables],
            "cwd": "/",
            "noNewPrivileges": True,
            "capabilities": {},
        }
        namespaces = [{"type": kind} for kind in ("mount", "pid", "ipc", "uts")]
        specification = {
            "ociVersion": "1.0.2",
            "process": process,
            "root": {"path": self.root, "readonly": True},
            "mounts": MOUNTS,
            "linux": {"namespaces": namespaces},
        }
        (bundle / "config.json").write_text(json.dumps(specification))
        container = Container(bundle, self._folder / "containers")
        try:
            yield container
        finally:
            container.remove()


class Container:
    """A running container. ``output`` is the file with its output."""

    def __init__(self, bundle: Path, state: Path) -> None:
        self._runc = ["runc", f"--root={state}"]
        # Container names are also names of control groups on this machine.
        self._id = f"contentlog-test-{os.getpid()}-{bundle.name}"
        self.output = bundle / "output"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [*self._runc, "run", f"--bundle={bundle}", self._id],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def terminate(self) -> None:
        """Sends SIGTERM to the container's first process."""
        lines(*self._runc, "kill", self._id, "TERM")

    def finish(self) -> str:
        """Waits for the container to exit with status 0, and returns its output."""
        assert self.process.wait(PATIENCE) == 0, self.output.read_text()
        return self.output.read_text()

    def remove(self) -> None:
        subprocess.run([*self._runc, "delete", "--force", self._id], capture_output=True)
        self.process.wait(PATIENCE)
