"""Uploads, previews and mappings are kept between requests, limited, and private to their user."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec
import pytest

from tests.integration.write_side import import_fixtures
from tests.integration.write_side.append_locks import connected
from tests.integration.write_side.import_fixtures import (
    OPERATOR,
    SCOPE,
    request_for,
    set_up,
    table_of,
)
from write_side.domain.events import ImportMappingSaved
from write_side.domain.identity import Scope, import_mapping_stream, new_id
from write_side.domain.refusals import UnknownContentType, UnknownUpload
from write_side.imports import uploads
from write_side.imports.check import check
from write_side.imports.columns import load_proposal, save_mapping
from write_side.imports.request import ImportRequest
from write_side.imports.table import Choice, FileRefused
from write_side.imports.uploads import (
    drop_upload,
    find_preview,
    find_upload,
    keep_preview,
    keep_upload,
    read_again,
    samples,
)
from write_side.repository import Repository
from write_side.store.retention import delete_leftovers

FILE = b"Title;Body\nCaf\xe9;x\n"
OTHERS = (Scope("acme", "staging"), Scope("rival", "production"))


async def stored_ids(repository: Repository) -> list[str]:
    rows = await repository.recorder.fetch("SELECT id::text FROM write_side.upload ORDER BY at, id")
    return [row["id"] for row in rows]


async def test_an_upload_is_found_by_every_process_and_read_again(magazine: Repository) -> None:
    upload = await keep_upload(magazine, SCOPE, "posts.csv", FILE)
    assert upload.table.rows[0].cells == ("Café", "x")
    assert await find_upload(magazine, SCOPE, upload.id) == upload
    request = await request_for(magazine, upload.table, upload.id)
    shown = (await check(magazine, upload.table, request)).preview
    assert await find_preview(magazine, SCOPE, upload.id) is None
    await keep_preview(magazine, SCOPE, upload.id, request, shown)
    found = await find_preview(magazine, SCOPE, upload.id)
    assert found is not None
    assert (found.request, found.preview) == (request, shown)
    await read_again(magazine, SCOPE, upload.id, Choice(encoding="cp850"))
    again = await find_upload(magazine, SCOPE, upload.id)
    assert (again.choice, again.table.encoding) == (Choice(encoding="cp850"), "cp850")
    assert again.table.rows[0].cells[0] != "Café"
    assert await find_preview(magazine, SCOPE, upload.id) is None
    with pytest.raises(FileRefused):
        await read_again(magazine, SCOPE, upload.id, Choice(encoding="utf-8"))
    assert await find_upload(magazine, SCOPE, upload.id) == again
    await drop_upload(magazine, SCOPE, upload.id)
    with pytest.raises(UnknownUpload):
        await find_upload(magazine, SCOPE, upload.id)


async def test_an_upload_that_is_sent_again_after_a_lost_connection_is_kept(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This is what happens to a read whose connection is lost after the first statement arrived."""
    fetch = magazine.recorder.fetch

    async def twice(statement: str, *parameters: Any) -> Any:
        await fetch(statement, *parameters)
        return await fetch(statement, *parameters)

    monkeypatch.setattr(magazine.recorder, "fetch", twice)
    upload = await keep_upload(magazine, SCOPE, "posts.csv", FILE)
    assert await find_upload(magazine, SCOPE, upload.id) == upload


async def test_an_upload_belongs_to_one_workspace(magazine: Repository) -> None:
    upload = await keep_upload(magazine, SCOPE, "posts.csv", FILE)
    request = await request_for(magazine, upload.table, upload.id)
    shown = (await check(magazine, upload.table, request)).preview
    for scope, upload_id in [(each, upload.id) for each in OTHERS] + [
        (SCOPE, new_id()),
        (SCOPE, "no-uuid"),
    ]:
        for ask in (
            find_upload(magazine, scope, upload_id),
            find_preview(magazine, scope, upload_id),
            keep_preview(magazine, scope, upload_id, request, shown),
            read_again(magazine, scope, upload_id, Choice()),
        ):
            with pytest.raises(UnknownUpload, match="upload the file again"):
                await ask
        await drop_upload(magazine, scope, upload_id)
    assert await stored_ids(magazine) == [upload.id]


@pytest.mark.slow
async def test_a_workspace_keeps_its_newest_uploads(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST", 2)
    other = await keep_upload(magazine, OTHERS[1], "posts.csv", FILE)
    made = [(await keep_upload(magazine, SCOPE, "posts.csv", FILE)).id for _ in range(3)]
    assert await stored_ids(magazine) == [other.id, *made[1:]]
    monkeypatch.setattr(uploads, "MOST_BYTES", 10)
    last = await keep_upload(magazine, SCOPE, "posts.csv", FILE)
    assert await stored_ids(magazine) == [other.id, last.id]


async def test_uploads_expire_after_a_day(magazine: Repository, database_url: str) -> None:
    old = await keep_upload(magazine, SCOPE, "posts.csv", FILE)
    async with connected(database_url) as connection:
        await connection.execute("UPDATE write_side.upload SET at = now() - interval '25 hours'")
    new = await keep_upload(magazine, SCOPE, "posts.csv", FILE)
    with pytest.raises(UnknownUpload):
        await find_upload(magazine, SCOPE, old.id)
    await delete_leftovers(magazine.recorder)
    assert await stored_ids(magazine) == [new.id]


async def test_an_upload_of_another_version_must_be_repeated(
    magazine: Repository, database_url: str
) -> None:
    upload = await keep_upload(magazine, SCOPE, "posts.csv", FILE)
    other = zlib.compress(msgspec.msgpack.encode(upload.table))
    async with connected(database_url) as connection:
        await connection.execute("UPDATE write_side.upload SET parsed = $1", other)
    with pytest.raises(UnknownUpload, match="upload the file again"):
        await find_upload(magazine, SCOPE, upload.id)


async def test_an_unreadable_file_is_not_kept(magazine: Repository) -> None:
    with pytest.raises(FileRefused):
        await keep_upload(magazine, SCOPE, "posts.exe", FILE)
    assert await stored_ids(magazine) == []


def test_samples_are_the_first_distinct_cells_of_each_column() -> None:
    table = table_of("A,B,C\n1,x,\n1,,\n2,y, \n3,z,\n4,w,\n")
    assert samples(table) == [["1", "2", "3"], ["x", "y", "z"], []]


HEADINGS = ("Titre", "Texte", "Vues", "Cover")
TARGETS = ("Title", "body", "views", "")


def mapping(targets: tuple[str, ...] = TARGETS, scope: Scope = SCOPE) -> ImportRequest:
    return ImportRequest(scope, "posts", "", targets)


async def test_a_mapping_that_was_saved_is_proposed_again(magazine: Repository) -> None:
    before = await load_proposal(magazine, SCOPE, "posts", HEADINGS)
    assert before.targets == ("", "", "", "cover")
    await save_mapping(magazine, mapping(), HEADINGS, OPERATOR)
    head = await magazine.recorder.head()
    await save_mapping(magazine, mapping(), HEADINGS, OPERATOR)
    assert await magazine.recorder.head() == head
    found = await load_proposal(
        magazine, SCOPE, "posts", ("VUES", "titre", "Texte", "Cover", "Author")
    )
    assert found.targets == ("views", "Title", "body", "", "author")
    assert found.sources == ("saved", "saved", "saved", "saved", "heading")
    posts = await magazine.content_type(SCOPE, "posts")
    rows = await magazine.recorder.select_events(import_mapping_stream(posts.id))
    event = magazine.mapper.event_of(rows[0])
    assert isinstance(event, ImportMappingSaved)
    assert (event.actor, len(rows)) == (OPERATOR, 1)


async def test_the_last_mapping_is_used_and_a_removed_field_is_no_target(
    magazine: Repository,
) -> None:
    await save_mapping(magazine, mapping(), HEADINGS, OPERATOR)
    other = ("Title", "body", "", "cover")
    await save_mapping(magazine, mapping(other), HEADINGS, OPERATOR)
    assert (await load_proposal(magazine, SCOPE, "posts", HEADINGS)).targets == other
    with pytest.raises(UnknownContentType):
        await save_mapping(magazine, mapping(scope=OTHERS[1]), HEADINGS, OPERATOR)


async def test_a_mapping_belongs_to_one_type_in_one_scope(magazine: Repository) -> None:
    await save_mapping(magazine, mapping(), HEADINGS, OPERATOR)
    rival = import_fixtures.MANIFEST.replace("workspace: acme", "workspace: rival")
    await set_up(magazine, rival)
    for scope in (OTHERS[0], OTHERS[1]):
        assert (await load_proposal(magazine, scope, "posts", HEADINGS)).targets[:3] == ("", "", "")
    assert (await load_proposal(magazine, SCOPE, "topics", HEADINGS)).targets == ("", "", "", "")
