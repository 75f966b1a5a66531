"""Ends when the embedded PostgreSQL does, so that its supervisor starts it again.

`contentlog dev` runs ``python -m deploy.embedded.watch FOLDER``, which uses the server of the data
folder and so starts it if it does not run.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from deploy.embedded import sockets
from deploy.embedded.errors import EmbeddedPostgresError
from deploy.embedded.server import use

INTERVAL = 0.25  # seconds between two checks


def main(data: Path) -> str:
    try:
        with use(data) as url:
            while sockets.accepts(url):
                time.sleep(INTERVAL)
    except EmbeddedPostgresError as error:
        return str(error)
    return "the embedded PostgreSQL has ended"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
