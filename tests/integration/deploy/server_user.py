"""A process for the tests that uses the embedded PostgreSQL until its standard input ends.

It prints the URL as soon as it has one, and `left` at its end. As root it can switch to another
user first: `python -m tests.integration.deploy.server_user DATA [USER]`. It imports everything
before that, because the other user may not be able to read the interpreter's files.
"""

import os
import select
import sys
from pathlib import Path

from deploy.embedded import programs
from deploy.embedded.errors import EmbeddedPostgresError
from deploy.embedded.server import use


def become(name: str) -> None:
    user = programs.by_name(name)
    readable = programs.runnable(user).folder
    programs.release()
    programs.installed = lambda: readable  # type: ignore[assignment]  # the cached one
    os.setgroups([])
    os.setgid(user.gid)
    os.setuid(user.uid)


def main(data: Path) -> None:
    with use(data) as url:
        print(url, flush=True)  # noqa: T201
        # A signal that arrives just before a blocking read does not interrupt it.
        while not select.select([sys.stdin], [], [], 0.5)[0]:
            pass
    print("left", flush=True)  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) > 2:
        become(sys.argv[2])
    try:
        main(Path(sys.argv[1]))
    except EmbeddedPostgresError as refused:
        sys.exit(f"refused: {refused}")
    except KeyboardInterrupt:
        sys.exit("interrupted")
