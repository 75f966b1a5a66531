"""Ends when the embedded PostgreSQL does, so that its supervisor starts it again.

`contentlog dev` runs ``python -m deploy.embedded.watch FOLDER``, which uses the server of the data
folder and so starts it if it does not run.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from deploy.embedded.errors import EmbeddedPostgresError
from deploy.embedded.server import use

INTERVAL = 0.25  # seconds between two checks


def answers(url: str) -> bool:
    """Whether a server accepts connections on the URL's Unix socket."""
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
                time.sleep(INTERVAL)
    except EmbeddedPostgresError as error:
        return str(error)
    return "the embedded PostgreSQL has ended"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
