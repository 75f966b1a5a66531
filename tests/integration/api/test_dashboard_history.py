"""The history on an entry's page: changed words, comparison of two versions, and restoring a
version."""

from __future__ import annotations

import re
from html import unescape

import pytest

from tests.integration.api.dashboard import HERE, signed_in
from tests.integration.api.server import Server
from tests.integration.projector.sample_log import BODY, ContentBuilder, raws
from write_side.domain.definition import Field
from write_side.entry_history import HistoryRequest, histories

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIELDS = (
    Field("body", "Body", "rich_text", required=True),
    Field("note", "Note", "text"),
    Field("when", "When", "datetime"),
)
FIRST = "<p>It rolls a little. The pub is a walk. Bring a coat.</p>"
SECOND = "<p>It rolls a little. The <b>old</b> pub is a walk. Bring two.</p>"


async def article(acme: ContentBuilder) -> str:
    """An entry with four versions."""
    await acme.content_type(*FIELDS)
    entry = await acme.entry("first", fields=raws(body=FIRST, when="2026-01-31T09:30:00+02:00"))
    await acme.update(entry, title="Second", slug="second", fields=raws(body=SECOND, note="A note"))
    await acme.translate(entry, "fr-FR", title="Deuxième", fields=raws(body="Un texte"))
    await acme.update(entry, status="published")
    return entry


async def test_changed_words_are_shown_in_their_text_without_markup(
    server: Server, acme: ContentBuilder
) -> None:
    entry = await article(acme)
    await server.caught_up()
    async with signed_in(server) as visitor:
        page = (await visitor.get(f"/dashboard/entries/{entry}")).text
        [words] = re.findall(r'<dd class="words"[^>]*>(.*?)</dd>', page)
        text = re.sub(r'<span class="unseen"[^>]*>[^<]*</span>', "", words)
        assert unescape(text) == (
            "It rolls a little. The <ins>old </ins>pub is a walk. "
            "Bring <del>a coat</del><ins>two</ins>."
        )
        assert re.search(
            r'<time datetime="2026-01-31T09:30:00\+02:00"[^>]*>31 Jan 2026, 09:30', page
        )


async def test_a_reference_to_a_deleted_entry_says_so(server: Server, acme: ContentBuilder) -> None:
    await acme.content_type(Field("related", "Related", "reference", multiple=True))
    kept, gone = [await acme.entry(slug) for slug in ("kept", "gone")]
    entry = await acme.entry("first", fields=raws(related=[kept]))
    await acme.update(entry, fields=raws(related=[kept, gone]))
    await acme.delete(gone)
    await server.caught_up()
    async with signed_in(server) as visitor:
        page = (await visitor.get(f"/dashboard/entries/{entry}")).text
    assert f"</span>Kept, deleted entry {gone}</ins>" in page
    assert f"deleted entry <code>{gone}</code>" in page


async def test_two_versions_are_compared(server: Server, acme: ContentBuilder) -> None:
    entry = await article(acme)
    await server.caught_up()
    where = f"/dashboard/entries/{entry}"
    async with signed_in(server) as visitor:
        page = (await visitor.get(f"{where}?compare=1&with=4")).text
        assert "7 fields differ" in page
        changed = re.findall(r'class="change"><dt>(\w+)', page)
        assert changed == ["Title", "Slug", "Status", "Body", "Note", "Title", "Body"]
        assert "The two versions are the same" in (await visitor.get(f"{where}?compare=4")).text
        missing = await visitor.get(f"{where}?compare=1&with=9")
        assert missing.status == 404
        assert "This entry has no version 9; its versions are 1 to 4" in missing.text
        assert (await visitor.get(f"{where}?compare=x")).status == 400


async def test_a_version_is_restored_by_an_ordinary_update(
    server: Server, acme: ContentBuilder
) -> None:
    entry = await article(acme)
    await server.caught_up()
    where = f"/dashboard/entries/{entry}"
    async with signed_in(server) as visitor:
        page = (await visitor.get(where)).text
        assert page.count("Restore this version") == 3
        forged = await visitor.post(f"{where}/restore", {"version": "1", "csrf": "x"})
        assert forged.status == 403
        here = {"Referer": f"{server.origin}{where}?locale=fr-FR", **HERE}
        fields = {"version": "1", "expected": "3"}
        stale = await visitor.post(f"{where}/restore", fields, headers=here)
        assert stale.status == 409
        assert f'href="{where}?locale=fr-FR">Open the form again' in stale.text
        again = await visitor.get(f"{where}/restore")  # its address, opened again
        assert (again.status, again.headers.get("Location")) == (303, where)
        for version, status in (("", 400), ("9", 404)):
            refused = await visitor.post(f"{where}/restore", {"version": version})
            assert refused.status == status
        done = await visitor.post(f"{where}/restore", {"version": "1", "expected": "4"})
        assert (done.status, done.headers["Location"]) == (303, f"{where}#history")
        page = (await visitor.get(where)).text
        assert '<h1 lang="en-US">First</h1>' in page
        assert "Bring a coat" in page
    now = await server.repository.entry(acme.scope, entry)
    assert (now.slug, now.status, now.version) == ("first", "published", 5)
    assert bytes(now.fields["note"]) == b"null"
    assert now.translations == {}
    [changes] = await histories(server.repository, acme.scope, [HistoryRequest(entry)])
    assert changes[0].actor == "secret-of-acme"


async def test_a_restored_version_may_refer_to_an_entry_deleted_since(
    server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type(BODY, Field("lead", "Lead", "reference"))
    target = await acme.entry("target")
    entry = await acme.entry("one", fields=raws(lead=target))
    await acme.update(entry, fields=raws(lead=None))
    await acme.delete(target)
    await server.caught_up()
    where = f"/dashboard/entries/{entry}"
    async with signed_in(server) as visitor:
        done = await visitor.post(f"{where}/restore", {"version": "1", "expected": "2"})
        assert (done.status, done.headers["Location"]) == (303, f"{where}#history")
    now = await server.repository.entry(acme.scope, entry)
    assert bytes(now.fields["lead"]) == f'"{target}"'.encode()


async def test_only_editors_restore(server: Server) -> None:
    acme = await server.workspace(permissions=("content.view",))
    entry = await article(acme)
    await server.caught_up()
    async with signed_in(server) as visitor:
        where = f"/dashboard/entries/{entry}"
        assert "Restore this version" not in (await visitor.get(where)).text
        assert (await visitor.post(f"{where}/restore", {"version": "1"})).status == 403


async def test_versions_of_other_workspaces_are_not_restored(
    server: Server, acme: ContentBuilder
) -> None:
    entry = await article(acme)
    await server.workspace("rival")
    await server.caught_up()
    async with signed_in(server, "secret-of-rival") as rival:
        where = f"/dashboard/entries/{entry}"
        assert (await rival.post(f"{where}/restore", {"version": "1"})).status == 404
        assert (await rival.get(f"{where}?compare=1")).status == 404
