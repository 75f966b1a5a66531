"""Checks of the poolers in front of the databases."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from deploy.doctor.findings import Finding, ok, problem, warning
from write_side.postgres.connection import connected
from write_side.postgres.faults import FAULTS
from write_side.postgres.pooler import PoolerUrl
from write_side.postgres.statements import statement

PATIENCE = 5.0


class PoolerFacts(Struct, frozen=True, kw_only=True):
    """The columns of ``pooler_facts.sql``. ``announced``: the process id that the connection was
    given, which a pooler makes up."""

    database: str
    role: str
    started: datetime
    jit: str
    process: int
    announced: int


async def check_pooler(name: str, setting: str, direct_url: str, url: PoolerUrl) -> Finding:
    """``name``: of the database's role in the installation. ``setting``: with the URL."""
    try:
        direct, pooled = await _read(direct_url), await _read(url)
    except (ValueError, *FAULTS) as error:
        reason = str(error) or type(error).__name__
        text = f"its pooler cannot be reached ({reason}): requests fail"
        return problem(name, text, f"start it, or unset {setting}")
    return judge(name, setting, direct, pooled)


def judge(name: str, setting: str, direct: PoolerFacts, pooled: PoolerFacts) -> Finding:
    if (pooled.database, pooled.started) != (direct.database, direct.started):
        text = f"its pooler leads to another database ('{pooled.database}')"
        return problem(name, text, f"set {setting} to a pooler in front of '{direct.database}'")
    if pooled.role != direct.role:
        text = f"requests use role '{pooled.role}', everything else role '{direct.role}'"
        return problem(name, text, f"name role '{direct.role}' in {setting}")
    if pooled.announced == pooled.process:
        text = "no pooler responds at its pool URL: each statement is planned again, without need"
        return warning(name, text, f"unset {setting}")
    if pooled.jit != "off":
        text = "jit is on behind its pooler: lists of large read models take far longer"
        return warning(name, text, "contentlog migrate, then RECONNECT in the pooler's console")
    return ok(name, "its pooler leads to the same database")


async def _read(url: str) -> PoolerFacts:
    async with connected(url, timeout=PATIENCE, command_timeout=PATIENCE) as connection:
        row = await connection.fetchrow(statement("deploy", "pooler_facts"))
        assert row is not None
        facts = {**row, "announced": connection.get_server_pid()}
        return msgspec.convert(facts, PoolerFacts)
