"""Ends when the embedded PostgreSQL does, so that its supervisor starts it again.

``python -m deploy.embedded.watch FOLDER`` uses the server of a data folder, which starts it where
it does not run, and looks after it. ``contentlog dev`` runs it as a child beside the others.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from deploy.embedded.server import EmbeddedPostgresError, use

EVERY = 0.25  # seconds between two looks


def answers(url: str) -> bool:
    """Whether somebody accepts connections on the URL's Unix socket."""
    [folder], [port] = (parse_qs(urlsplit(url).query)[name] for name in ("host", "port"))
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(f"{folder}/.s.PGSQL.{port}")
        except OSError:
            return False
    return True


def main(data: Path) -> str:
    try:
        with use(data) as url:
            while answers(url):
                time.sleep(EVERY)
    except EmbeddedPostgresError as error:
        return str(error)
    return "the embedded PostgreSQL has ended"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
