"""Whether a read model is on one PostgreSQL or on a Citus cluster (ADR 59)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from write_side.domain.refusals import ExplainedError

if TYPE_CHECKING:
    from write_side.postgres.connection import Connection

Engine = Literal["postgresql", "citus"]
CITUS_DEFAULTS = {"citus.override_table_visibility": "off"}
"""Settings of a role that reads a distributed read model. Otherwise Citus looks at each table that
a query of the catalog finds, and asyncpg looks up types there."""

# Not by to_regclass, which a role that may only read the tables of the read model cannot use here.
_LOOK = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE (n.nspname, c.relname) IN (('projector', 'announced'), ('read_model', 'checkpoint'))"""
_HAS_EXTENSION = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
_known: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


class EngineRefused(ExplainedError):
    """The database does not fit the engine that the settings name; the message says what to do."""


class EngineMismatch(EngineRefused):
    """The live read model is of another engine."""


async def is_distributed(connection: Connection) -> bool:
    """Whether the live read model is made of distributed tables. False if there is no read model;
    the connection then asks again at the next call, otherwise only once."""
    if connection in _known:
        return _known[connection]
    found = {row["relname"] for row in await connection.fetch(_LOOK)}
    distributed = "announced" in found
    if "checkpoint" in found:
        _known[connection] = distributed
    return distributed


def is_known(connection: Connection) -> bool:
    """Whether there was a read model when the connection last asked for its engine."""
    return connection in _known


async def check_extension(connection: Connection) -> None:
    """Raises EngineRefused if the database cannot have distributed tables."""
    if not await connection.fetchval(_HAS_EXTENSION):
        raise EngineRefused(
            "the settings say that the read model is on Citus, but its database does not have the "
            "extension: run CREATE EXTENSION citus there and on each worker, and add the workers "
            "with citus_add_node; or remove the engine from the settings"
        )


async def check_engine(connection: Connection, engine: Engine) -> None:
    """Raises EngineMismatch."""
    found: Engine = "citus" if await is_distributed(connection) else "postgresql"
    if found != engine:
        raise EngineMismatch(
            f"the read model's engine is '{found}', but its settings say '{engine}': change the "
            "settings back, or name an empty database, which the projector fills from the log"
        )
