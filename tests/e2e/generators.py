"""Client generators for Python and TypeScript, in their own environment.

They need other dependency versions than the project. Node is installed from PyPI, npm packages from
the lock file in ``clients``. Installations are kept inside the running environment, in a folder
named after the hash of the requirement files.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

CLIENTS = Path(__file__).with_name("clients")
WANTED = ("requirements.txt", "package.json", "package-lock.json")
LEFT_OUT = "CONTENTLOG_GENERATOR_TESTS"
PATIENCE = 900  # seconds for an installation, and for a generator run
TSC = "--strict --noUncheckedIndexedAccess --target ES2022 --module CommonJS --outDir out"


class Generators:
    """Runs the installed Python and npm programs by name."""

    def __init__(self, folder: Path) -> None:
        self._python = folder / "venv" / "bin"
        self.node_modules = folder / "node_modules"
        path = (str(self._python), str(self.node_modules / ".bin"), os.environ["PATH"])
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "PATH": os.pathsep.join(path),
            "NO_COLOR": "1",
            "REDOCLY_TELEMETRY": "off",
            "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true",
        }

    async def run(self, folder: Path, program: str, *arguments: str) -> str:
        """Runs a program, which must succeed, and returns its output."""
        process = await asyncio.create_subprocess_exec(
            *(program, *arguments),
            cwd=folder,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                stdout, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, f"{program}: {stdout.decode()}"
        return stdout.decode()

    async def compile(self, folder: Path, program: str) -> None:
        """Compiles TypeScript with strict checks into the folder ``out``."""
        types = ("--moduleResolution", "node10", "--types", "node")
        await self.run(folder, "tsc", *TSC.split(), *types, program)


def generators() -> Generators:
    """Installs the generators on first use. If a registry is unreachable, the test is skipped;
    under CI it fails, because a skip would go unnoticed."""
    wanted = b"".join((CLIENTS / name).read_bytes() for name in WANTED)
    folder = Path(sys.prefix) / "client-generators" / hashlib.sha256(wanted).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            _install(folder)
            (folder / "complete").touch()
    return Generators(folder)


def _install(folder: Path) -> None:
    python = folder / "venv" / "bin"
    for name in WANTED:
        (folder / name).write_bytes((CLIENTS / name).read_bytes())
    venv.create(folder / "venv", with_pip=True, clear=True)
    _call(folder, python / "python", "-m", "pip", "install", "-q", "-r", "requirements.txt")
    _call(folder, python / "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def _call(folder: Path, *command: object) -> None:
    path = os.pathsep.join((str(folder / "venv" / "bin"), os.environ["PATH"]))
    try:
        subprocess.run(
            [str(part) for part in command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        missing = f"the generators of clients cannot be installed: {error}\n{error.stderr!s}"
        if os.environ.get("CI") == "true" and os.environ.get(LEFT_OUT) != "skip":
            pytest.fail(missing)
        pytest.skip(missing)
