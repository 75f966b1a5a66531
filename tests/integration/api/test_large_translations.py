"""An entry that would be large with all its translations: they are rendered when it is read."""

from __future__ import annotations

import pytest

from tests.integration.api.graphql import data
from tests.integration.api.server import Server
from tests.integration.projector.sample_log import BODY, LEAD, ContentBuilder, raws, rows
from write_side.domain.events import Translation

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOCALES = ("de-DE", "fr-FR", "it-IT")
TEXTS = {
    "de-DE": Translation("Eins", {}),
    # "" removes the translation of a title.
    "fr-FR": Translation("", raws(lead="Chapeau")),
    "it-IT": Translation("Uno", raws(body="Testo", lead="Sommario")),
}
STORED = """
SELECT locale, texts, fields IS NULL, xmin::text FROM entry_locale WHERE id = $1::uuid ORDER BY 1"""
QUERY = """
query ($locale: String) { contentEntries(locale: $locale, limit: 10) { data { title fields } } }"""


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projector.entry_rows.MAX_RENDERED", 0)


async def translated(acme: ContentBuilder) -> str:
    """An entry with a translated text in fr-FR, a title in de-DE, and both in it-IT."""
    one = await acme.entry("one", status="published", fields=raws(body="Text", lead="Lead"))
    await acme.update(one, translations=TEXTS)
    return one


async def answers(server: Server) -> list[object]:
    """The title and the fields for every way of reading the entry, in each locale."""
    client = server.client()
    found: list[object] = []
    for locale in (*LOCALES, "sv-SE"):
        for path in ("/v1/content/posts", "/v1/content/posts/one", "/v1/content"):
            [entry] = [(await client.get(f"{path}?locale={locale}")).data]
            one = entry[0] if isinstance(entry, list) else entry
            found.append((one["title"], one["fields"]))
        [one] = (await data(client, QUERY, locale=locale))["contentEntries"]["data"]
        found.append((one["title"], one["fields"]))
    return found


async def test_large_translations_are_served_like_stored_ones(
    server: Server, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type(BODY, LEAD)
    one = await translated(acme)
    await server.caught_up()
    expected = await answers(server)
    assert ("One", {"body": "Text", "lead": "Chapeau"}) in expected
    monkeypatch.setattr("projector.entry_rows.MAX_RENDERED", 0)
    await acme.update(one, translations=dict.fromkeys(LOCALES, Translation("Other")))
    await server.caught_up()
    await acme.update(one, translations=TEXTS)
    await server.caught_up()
    stored = await rows(server.url, STORED, one)
    assert [(locale, texts, unrendered) for locale, texts, unrendered, _ in stored] == [
        ("de-DE", None, True),
        ("fr-FR", '{"lead":"Chapeau"}', True),
        ("it-IT", '{"body":"Testo","lead":"Sommario"}', True),
    ]
    assert await answers(server) == expected


async def test_a_change_of_the_entry_leaves_their_rows(
    server: Server, acme: ContentBuilder, rendered: None
) -> None:
    await acme.content_type(BODY, LEAD)
    one = await translated(acme)
    await server.caught_up()
    before = await rows(server.url, STORED, one)
    await acme.update(one, fields=raws(body="Other"))
    await server.caught_up()
    assert await rows(server.url, STORED, one) == before
    french = await server.client().get("/v1/content/posts/one?locale=fr-FR")
    assert french.data["fields"] == {"body": "Other", "lead": "Chapeau"}
