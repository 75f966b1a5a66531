"""The embedded PostgreSQL, as its users see it.

Every process that needs the server uses it for as long as it runs. The first one starts it and
the last one stops it; whoever comes in between shares it. A user that is killed is simply no
longer counted: the server it leaves behind serves the next one.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.embedded import files, place, postmaster, programs, sockets
from deploy.embedded.account import Account, for_server, our_own
from deploy.embedded.errors import EmbeddedPostgresError, explained
from deploy.embedded.place import Place
from deploy.embedded.postmaster import Options
from deploy.embedded.programs import Programs
from deploy.embedded.shelter import SHELTERS

__all__ = ["EmbeddedPostgresError", "use"]


@contextmanager
def use(
    data: Path,
    *,
    durable: bool = True,
    settings: Mapping[str, str] = {},
    run_as: str = "nobody",
    shelters: tuple[Path, ...] = SHELTERS,
) -> Iterator[str]:
    """The server of this data folder, as a URL for asyncpg and psycopg alike.

    Starts the server if it does not run, makes its cluster if there is none, and stops it on exit
    unless somebody else uses it. Blocks while it does so. `durable=False` may lose or spoil
    everything in a crash: for tests. `settings` are PostgreSQL's, for a server that is started
    here. Root lends the server the user `run_as`; where that user cannot enter the data folder,
    the cluster is kept in one of the `shelters` (see deploy.embedded.place).

    Raises EmbeddedPostgresError with what to do.
    """
    lending = _Lending(run_as, shelters)
    with explained(data):
        folder = place.made(data)
        users = files.share(folder / "users.lock")
    try:
        with explained(folder), files.locked(folder / "start.lock"):
            url = _started(folder, lending, Options(durable, settings))
        yield url
    finally:
        with explained(folder), files.locked(folder / "start.lock"):
            if files.is_last(users):
                _stop(folder, lending)
            os.close(users)


@dataclass(frozen=True)
class _Lending:
    """What root uses to run the server as somebody else."""

    run_as: str
    shelters: tuple[Path, ...]

    def account(self, found: Place | None) -> Account:
        return for_server(found.cluster if found else None, self.run_as)

    def programs(self, found: Place | None) -> Programs:
        return programs.runnable(self.account(found), self.shelters)


def _started(folder: Path, lending: _Lending, options: Options) -> str:
    found = place.noted(folder) or place.chosen(folder, lending.account(None), lending.shelters)
    own = Programs(programs.installed(), our_own())
    if not postmaster.answers(found, own):
        postmaster.start(found, own, lending.programs(found), options)
    return sockets.url(found)


def _stop(folder: Path, lending: _Lending) -> None:
    found = place.noted(folder)
    if found is not None:
        postmaster.stop(found, lending.programs(found))
