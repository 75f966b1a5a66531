"""A server process that is stopped before it has reached its database."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import free_port

SILENT = "127.0.0.1"


@pytest.mark.parametrize("command", ["api", "projector", "webhooks"])
def test_a_server_that_is_stopped_while_it_starts_ends_with_status_0(command: str) -> None:
    with socket.create_server((SILENT, 0)) as database:
        url = f"postgresql://user@{SILENT}:{database.getsockname()[1]}/content"
        database.settimeout(60)
        environment = {
            **os.environ,
            "CONTENTLOG_EVENT_STORE_URL": url,
            "CONTENTLOG_READ_MODEL_URL": url,
            "CONTENTLOG_PORT": str(free_port()),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "deploy.cli", command],
            env=environment,
            cwd=Path(__file__).parents[3],
            stdin=subprocess.DEVNULL,
        )
        try:
            connection, _ = database.accept()
            with connection:
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
