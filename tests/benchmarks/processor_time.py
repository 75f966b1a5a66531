"""Processor time of processes, including PostgreSQL's backends, by what they do."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import asyncpg

from tests.databases import owner_of

_BACKENDS = """
SELECT pid, CASE
    WHEN backend_type <> 'client backend' THEN 'PostgreSQL in the background'
    WHEN application_name = 'contentlog projector' THEN 'PostgreSQL: the read model is written'
    WHEN query LIKE '%write_side.append(%' THEN 'PostgreSQL: append'
    -- asyncpg's pool resets a connection after each use
    WHEN query LIKE '%floor_entry%' OR query LIKE '%UNLISTEN%' THEN 'PostgreSQL: INSERT'
    WHEN query LIKE '%bytes_before%' THEN 'PostgreSQL: the log is read'
    ELSE 'PostgreSQL: anything else' END AS part
FROM pg_stat_activity WHERE pid <> pg_backend_pid()"""


class ProcessorTime:
    """Milliseconds by part. ``processes`` maps pids to parts; their descendants count too."""

    def __init__(self, url: str, processes: dict[int, str]) -> None:
        self._url = url
        self._processes = processes

    async def read(self) -> Counter[str]:
        parts = {child: part for pid, part in self._processes.items() for child in family(pid)}
        connection = await asyncpg.connect(owner_of(self._url))
        parts |= {row["pid"]: row["part"] for row in await connection.fetch(_BACKENDS)}
        await connection.close()
        times: Counter[str] = Counter()
        for pid, part in parts.items():
            times[part] += milliseconds(pid)  # type: ignore[assignment]
        return times


def family(pid: int) -> Iterator[int]:
    """Yields the process and all its descendants."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from family(int(child))


def milliseconds(pid: int) -> float:
    """User and system time of all threads; 0 if the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proportional(pid: int) -> int:
    """The process's proportional set size (PSS) in bytes."""
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    return int(found[1]) * 1024 if found else 0
