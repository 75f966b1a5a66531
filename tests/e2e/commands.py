"""Runs ``contentlog COMMAND`` as an operator would, on two databases."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from msgspec import Struct

from deploy.supervisor import contentlog

# Seconds, with a margin for a busy machine.
PATIENCE = 300.0


class CommandResult(Struct, frozen=True):
    status: int
    stdout: str
    stderr: str

    @property
    def result(self) -> Any:
        """The last line of the ``--json`` output: the result of the command."""
        return json.loads(self.stdout.splitlines()[-1])


class Commands:
    """Runs commands with the same settings, in a folder without settings files."""

    def __init__(self, store_url: str, model_url: str, folder: Path, **environment: str) -> None:
        self._folder = folder
        self._environment = {
            **{name: value for name, value in os.environ.items() if "CONTENTLOG" not in name},
            "CONTENTLOG_EVENT_STORE_URL": store_url,
            "CONTENTLOG_READ_MODEL_URL": model_url,
            "CONTENTLOG_REBUILD_WORKERS": "1",
            **environment,
        }

    async def run(self, *arguments: str) -> CommandResult:
        """Runs a command that must succeed."""
        ended = await self.ended(*arguments)
        assert ended.status == 0, ended
        return ended

    async def refused(self, *arguments: str) -> CommandResult:
        """Runs a command that must exit with status 1 and one line on standard error."""
        ended = await self.ended(*arguments)
        assert (ended.status, ended.stderr.count("\n")) == (1, 1), ended
        return ended

    async def ended(self, *arguments: str) -> CommandResult:
        return await asyncio.to_thread(self._ended, arguments)

    def _ended(self, arguments: tuple[str, ...]) -> CommandResult:
        done = subprocess.run(
            contentlog(*arguments),
            env=self._environment,
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return CommandResult(done.returncode, done.stdout, done.stderr)
