"""Runs `contentlog dev` as a process and observes it from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from deploy.supervisor import contentlog
from tests.integration.deploy.processes import children_of, until

PATIENCE = 120.0


class Dev:
    """A `contentlog dev` process and its output so far."""

    def __init__(self, data: Path, port: int, *arguments: str) -> None:
        self.environment = {
            **{name: value for name, value in os.environ.items() if "CONTENTLOG" not in name},
            "CONTENTLOG_DATA": str(data),
            "CONTENTLOG_PORT": str(port),
            # Tests send more requests per minute than the default limits allow.
            "CONTENTLOG_KEY_RATE_LIMIT": "0",
            "CONTENTLOG_IP_RATE_LIMIT": "0",
            "CONTENTLOG_COST_LIMIT": "0",
            # On a slow machine, writes wait longer until they can be read.
            "CONTENTLOG_READ_YOUR_WRITES_MS": "30000",
        }
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            contentlog("dev", *arguments),
            env=self.environment,
            cwd=data.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self.complaints: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=(stream, lines), daemon=True)
            for stream, lines in (
                (self.process.stdout, self.lines),
                (self.process.stderr, self.complaints),
            )
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: Any, lines: list[str]) -> None:
        lines.extend(iter(stream.readline, ""))

    def ready(self) -> float:
        """Waits until all startup output is printed. Returns the seconds since the start."""
        until(lambda: self._has_printed_instructions() or self.process.poll() is not None, 180)
        assert self.process.poll() is None, "".join(self.complaints)
        return time.monotonic() - self.began

    def _has_printed_instructions(self) -> bool:
        return any("curl -H" in line and " -d " in line for line in self.lines) or any(
            "contentlog key issue" in line for line in self.lines
        )

    def curl_lines(self) -> list[str]:
        return [line.strip() for line in self.lines if line.startswith("  curl ")]

    def run(self, *arguments: str) -> str:
        """Runs `contentlog ARGUMENTS` on the same data folder."""
        return subprocess.run(
            contentlog(*arguments),
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        ).stdout

    def pids(self) -> set[int]:
        """The process ids of the parent and its direct children."""
        return {self.process.pid, *children_of(self.process.pid)}

    def stop(self, number: signal.Signals) -> None:
        """Signals only the parent. All processes must exit cleanly."""
        pids = self.pids()
        assert len(pids) >= 3
        self.process.send_signal(number)
        assert self.process.wait(PATIENCE) == 0, "".join(self.complaints)
        assert not [one for one in pids if Path(f"/proc/{one}").exists()]
        until(lambda: "contentlog has stopped\n" in self.lines)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(30)
        assert self.process.stdout
        assert self.process.stderr
        self.process.stdout.close()
        self.process.stderr.close()
