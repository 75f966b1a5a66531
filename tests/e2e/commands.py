"""``contentlog COMMAND`` as an operator types it, on two databases."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from msgspec import Struct

from deploy.supervisor import contentlog

# Seconds; for a machine that has much else to do.
PATIENCE = 120.0


class Ended(Struct, frozen=True):
    status: int
    printed: str
    complained: str

    @property
    def result(self) -> Any:
        """The last line with --json: what was done."""
        return json.loads(self.printed.splitlines()[-1])


class Commands:
    """All run with the same settings, in a folder without any files of settings."""

    def __init__(self, store_url: str, model_url: str, folder: Path, **environment: str) -> None:
        self._folder = folder
        self._environment = {
            **{name: value for name, value in os.environ.items() if "CONTENTLOG" not in name},
            "CONTENTLOG_EVENT_STORE_URL": store_url,
            "CONTENTLOG_READ_MODEL_URL": model_url,
            "CONTENTLOG_REBUILD_WORKERS": "1",
            **environment,
        }

    async def run(self, *arguments: str) -> Ended:
        """One that must end well."""
        ended = await self.ended(*arguments)
        assert ended.status == 0, ended
        return ended

    async def refused(self, *arguments: str) -> Ended:
        """One that must end with status 1 and one line on standard error."""
        ended = await self.ended(*arguments)
        assert (ended.status, ended.complained.count("\n")) == (1, 1), ended
        return ended

    async def ended(self, *arguments: str) -> Ended:
        return await asyncio.to_thread(self._ended, arguments)

    def _ended(self, arguments: tuple[str, ...]) -> Ended:
        done = subprocess.run(
            contentlog(*arguments),
            env=self._environment,
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return Ended(done.returncode, done.stdout, done.stderr)
