"""The embedded PostgreSQL over TCP.

The library's pipeline mode deadlocks on large appends over a Unix socket, and both sides must use
the same transport.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from deploy.embedded.sockets import NAME, OWNER, owner_url

# A separate address, because another PostgreSQL or another run may use the port on
# 127.0.0.1.
ADDRESS = f"127.77.{os.getpid() // 254 % 256}.{os.getpid() % 254 + 1}"
SETTINGS = {"listen_addresses": ADDRESS, "max_connections": "200"}
_PASSWORD = "SELECT format('ALTER ROLE %I PASSWORD %L', $1::text, $2::text)"


async def over_tcp(cluster: str) -> str:
    """Enables TCP access with a new password for this run, and returns the URL."""
    password = secrets.token_hex()
    connection = await asyncpg.connect(owner_url(cluster))
    try:
        for role in (NAME, OWNER):
            await connection.execute(await connection.fetchval(_PASSWORD, role, password))
        _let_in(Path(await connection.fetchval("SHOW hba_file")))
        await connection.execute("SELECT pg_reload_conf()")
        port = await connection.fetchval("SHOW port")
    finally:
        await connection.close()
    return f"postgresql://{OWNER}:{password}@{ADDRESS}:{port}{urlsplit(cluster).path}"


def _let_in(rules: Path) -> None:
    with rules.open("a") as file:
        file.write("host all all 127.0.0.0/8 scram-sha-256\n")
