"""Read models with more entries than a test could create by commands."""

from __future__ import annotations

from projector.rows import BLOCKS
from read_side.schema import LIVE
from tests.integration.live_projector import connected
from write_side.postgres.statements import statement

_FILL = """
INSERT INTO read_model.entry
SELECT t.workspace, t.environment, gen_random_uuid(), t.id, 'entry-' || n,
       sha256(convert_to('entry-' || n, 'UTF8')), now(), 'Entry ' || n, 'published', 'en-US',
       NULL, NULL, now(), now() + interval '1 h' - n / 10 * interval '1 ms', now(), 1000000 - n, 1,
       t.version, $2::text::json, NULL, '{}'
FROM read_model.content_type t, generate_series(1, $1::int) AS n WHERE t.slug = $3"""


async def fill(model_url: str, entries: int, stored: str = "{}", type_slug: str = "posts") -> None:
    """Add newer entries of a type, all with the same values. ``entry-1`` is the newest; ten entries
    share each millisecond."""
    async with connected(model_url, search_path=LIVE) as connection:
        await connection.execute(_FILL, entries, stored, type_slug)
        await connection.execute("TRUNCATE entry_count")
        await connection.execute(statement("projector", "count_entries"), BLOCKS)
        # PostgreSQL does this by itself after a while; without statistics, its plans are arbitrary.
        await connection.execute("ANALYZE read_model.entry, read_model.content_type")
