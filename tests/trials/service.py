"""contentlog as a trial runs it: one workspace, two projectors and an API, without rate limits."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.supervisor import bound_to_parent, contentlog
from tests.processes import free_port

SECRET = "a-secret-of-the-trial-of-ha"
MANIFEST = f"""
workspace: trial
name: Trial
keys: [{{name: trial, permissions: [content.view, content.edit], secret: {SECRET}}}]
contentTypes: [{{slug: posts, name: Posts, fields: [{{slug: body, name: Body, type: text}}]}}]
"""
LIMITS = ("CONTENTLOG_KEY_RATE_LIMIT", "CONTENTLOG_IP_RATE_LIMIT", "CONTENTLOG_COST_LIMIT")


class CommandFailed(Exception):
    """A contentlog command exited with a nonzero status."""


class Installation:
    """Runs contentlog on these databases. ``owner_url`` is for migrations of the event store."""

    def __init__(self, event_store_url: str, owner_url: str, read_model_url: str) -> None:
        self._owner = {"CONTENTLOG_OWNER_URL": owner_url}
        self.environment = {
            **os.environ,
            "CONTENTLOG_EVENT_STORE_URL": event_store_url,
            "CONTENTLOG_READ_MODEL_URL": read_model_url,
            **dict.fromkeys(LIMITS, "0"),
        }

    def run(self, *arguments: str | Path) -> str:
        """Runs a command and returns its output. Raises CommandFailed."""
        environment = {**self.environment, **(self._owner if arguments[0] == "migrate" else {})}
        done = subprocess.run(
            contentlog(*map(str, arguments)),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise CommandFailed(f"contentlog {arguments[0]} failed: {done.stderr.strip()}")
        return done.stdout

    @contextmanager
    def service(self, folder: Path) -> Iterator[str]:
        """Starts two projectors and an API, creates the workspace, and yields the API's URL."""
        port = free_port()
        manifest = folder / "manifest.yaml"
        manifest.write_text(MANIFEST)
        self.run("migrate")
        self.run("apply", manifest)
        environment = {**self.environment, "CONTENTLOG_PORT": str(port)}
        log = (folder / "contentlog.log").open("ab")
        processes = [
            subprocess.Popen(
                bound_to_parent(contentlog(name)), env=environment, stdout=log, stderr=log
            )
            for name in ("projector", "projector", "api")
        ]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(60)
            log.close()
