"""A schema as comparable text: tables, types, constraints, indexes and functions."""

from __future__ import annotations

from write_side.postgres.connection import Connection

_COLUMNS = """
SELECT c.relname, c.relkind, c.relpersistence, c.reloptions, a.attnum, a.attname,
       format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage,
       a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'c')
  AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY c.relname, a.attnum"""
_CONSTRAINTS = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = $1::regnamespace ORDER BY 1, 2"""
_INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY 1"
_FUNCTIONS = """
SELECT pg_get_functiondef(oid) FROM pg_proc
WHERE pronamespace = $1::regnamespace AND prokind IN ('f', 'p') ORDER BY 1"""
_TRIGGERS = """
SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = $1::regnamespace AND NOT t.tgisinternal ORDER BY 1"""
_SEQUENCES = "SELECT sequencename FROM pg_sequences WHERE schemaname = $1 ORDER BY 1"


async def catalogue(connection: Connection, schema: str = "write_side") -> list[str]:
    """One line for each object. Columns are compared in their order, without dropped ones."""
    lines: list[str] = []
    for statement in (_COLUMNS, _CONSTRAINTS, _INDEXES, _FUNCTIONS, _TRIGGERS, _SEQUENCES):
        lines += [str(tuple(row)) for row in await connection.fetch(statement, schema)]
    return lines
