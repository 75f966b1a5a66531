"""Creates the demo magazine in an empty log: a manifest, three imports, an edited article, a
reverted import, and French translations.

Every step can be repeated without effect, so the next start completes an interrupted one. The demo
is complete once its last step is in the log. From then on it is ordinary content, which may be
changed and deleted and is not created again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from write_side.commands import UpdateEntry
from write_side.dispatch import execute
from write_side.domain.events import EntryDeleted, EntryUpdated, Translation, WorkspaceCreated
from write_side.domain.identity import (
    BASE_LANGUAGE,
    PRODUCTION,
    Actor,
    Scope,
    derived_id,
    entry_stream,
)
from write_side.domain.workspace import secret_hash
from write_side.imports.columns import match_headings
from write_side.imports.csv_reader import csv_table
from write_side.imports.importer import ImportRun, run_import
from write_side.imports.report import revert_import
from write_side.imports.request import ImportRequest
from write_side.manifest.diff import diff
from write_side.manifest.loader import load_manifest
from write_side.manifest.steps import apply_steps
from write_side.repository import Repository

FILES = Path(__file__).parent
DOCUMENT = load_manifest(FILES / "manifest.yaml")
MANIFEST = DOCUMENT.manifest
KEY = MANIFEST.keys[0]
SCOPE = Scope(MANIFEST.workspace, PRODUCTION)
# Import ids by content type, in order. They are fixed, so that each import happens once, and
# UUIDv7, so that the entries' ids contain a time.
IMPORTS = {
    "authors": "019a0000-0000-7000-8000-000000000001",
    "topics": "019a0000-0000-7000-8000-000000000002",
    "articles": "019a0000-0000-7000-8000-000000000003",
}
REVERTED = "019a0000-0000-7000-8000-000000000004"
"""An import of ``spring.csv`` that was published too early."""
EDITED = derived_id(IMPORTS["articles"], BASE_LANGUAGE, "in-praise-of-the-second-best-anchorage")
EDITS: tuple[dict[str, Any], ...] = (
    {
        "title": "The second-best anchorage",
        "slug": "the-second-best-anchorage",
        "fields": {
            "body": Raw(
                b'"<p>It rolls a little. The pub is a long walk. In the morning there is nobody '
                b"between you and the seals, who were told about the best one and went there "
                b'once.</p>"'
            )
        },
    },
    {"status": "archived"},
    {"status": "draft"},
)
ACTOR = Actor("operator", "demo")


class EntryTranslation(Struct, frozen=True):
    content_type: str
    slug: str
    locale: str
    texts: Translation

    @property
    def entry_id(self) -> str:
        return derived_id(IMPORTS[self.content_type], BASE_LANGUAGE, self.slug)


async def is_due(repository: Repository) -> bool:
    """Whether the log is empty, or begins with an incomplete demo."""
    rows = await repository.recorder.log(0, 1)
    if not rows:
        return True
    first = repository.mapper.decode(rows[0]["topic"], rows[0]["state"], rows[0]["at"])
    if not isinstance(first, WorkspaceCreated) or first.actor != ACTOR:
        return False
    return not await _is_complete(repository)


async def set_up(repository: Repository) -> int:
    """Executes the remaining steps; returns the position of the log afterwards."""
    async for _ in apply_steps(await diff(DOCUMENT, repository, ACTOR), repository):
        pass
    for content_type, import_id in IMPORTS.items():
        await _import(f"{content_type}.csv", content_type, import_id, repository)
    await _edit(repository)
    await _import("spring.csv", "articles", REVERTED, repository)
    await revert_import(repository, SCOPE, REVERTED, ACTOR)
    for translation in translations():
        await execute(
            UpdateEntry(
                actor=ACTOR,
                scope=SCOPE,
                entry_id=translation.entry_id,
                translations={translation.locale: translation.texts},
            ),
            repository,
        )
    return await repository.recorder.head()


async def has_key(repository: Repository) -> bool:
    """Whether the demo's key is still valid."""
    key = await repository.find_key(MANIFEST.workspace, KEY.name)
    return key is not None and key.secret_hash == secret_hash(secret())


def secret() -> str:
    assert KEY.secret is not None
    return KEY.secret


async def _edit(repository: Repository) -> None:
    """Makes the edits that are missing according to the article's version."""
    article = await repository.entry(SCOPE, EDITED)
    for edit in EDITS[article.version - 1 :]:
        await execute(UpdateEntry(actor=ACTOR, scope=SCOPE, entry_id=EDITED, **edit), repository)


async def _import(name: str, content_type: str, import_id: str, repository: Repository) -> None:
    """Slugs that exist are updated; there are none on the first imports."""
    table = csv_table((FILES / name).read_bytes(), name)
    fields = (await repository.content_type(SCOPE, content_type)).value_fields
    targets = match_headings(table.headings, fields, {})
    request = ImportRequest(SCOPE, content_type, import_id, targets, update=True)
    await run_import(ImportRun(repository, table, request, ACTOR))


def translations() -> Iterator[EntryTranslation]:
    decoded = msgspec.json.decode(
        (FILES / "translations.json").read_bytes(),
        type=dict[str, dict[str, dict[str, Translation]]],
    )
    for content_type, entries in decoded.items():
        for slug, locales in entries.items():
            for locale, texts in locales.items():
                yield EntryTranslation(content_type, slug, locale, texts)


async def _is_complete(repository: Repository) -> bool:
    *_, last = translations()
    rows = await repository.recorder.select_events(entry_stream(last.entry_id))
    return any(
        isinstance(event, EntryDeleted)
        or (isinstance(event, EntryUpdated) and last.locale in event.translations)
        for event in map(repository.mapper.event_of, rows)
    )
