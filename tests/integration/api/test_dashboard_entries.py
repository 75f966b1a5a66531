"""The dashboard's entry pages: filters, order, isolation and escaping."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from api.http.default_headers import CONTENT_SECURITY_POLICY
from tests.integration.api.dashboard import Browser, signed_in
from tests.integration.api.server import Server, serving
from tests.integration.live_projector import connected
from tests.integration.projector.sample_log import STAGES, ContentBuilder, raws
from write_side import commands as c
from write_side.domain.definition import Field, Option
from write_side.imports.table import LIMITS
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOSTILE = "<script>alert(1)</script> & \"quotes' {{ 7 * 7 }}"
FIELDS = (
    Field("top", "Top", "section"),
    Field("lead", "Lead", "text"),
    Field("body", "Body", "rich_text"),
    Field("views", "Views", "number"),
    Field("shown", "Shown", "boolean"),
    Field("when", "When", "datetime"),
    Field("campaign", "Campaign", "datetime", range=True),
    Field("mood", "Mood", "select", options=(Option("g", "Good"), Option("b", "Bad"))),
    Field("related", "Related", "reference", multiple=True),
    Field("cover", "Cover", "media", multiple=True),
    Field("meta", "Meta", "json"),
    Field("faq", "FAQ", "repeater", fields=(Field("q", "Question", "text"),)),
)
UNKNOWN = "019a0000-0000-7000-8000-000000000000"
_TITLE = re.compile(r'data-label="Title">\s*<a href="([^"]+)"[^>]*>([^<]*)</a>')
_TOTAL = re.compile(r'id="results-heading"[^>]*>([^<]*)<')


async def search_results(visitor: Browser, query: str = "") -> tuple[str, list[str]]:
    """The heading of the results and the titles below it."""
    page = await visitor.get(f"/dashboard/entries?{query}")
    assert page.status == 200
    [total] = _TOTAL.findall(page.text)
    return total, [unescape(title) for _, title in _TITLE.findall(page.text)]


async def test_filters_select_entries(server: Server, acme: ContentBuilder) -> None:
    await acme.content_type(stages=STAGES)
    await acme.content_type(slug="pages")
    await acme.entry("one", status="published")
    two = await acme.entry("two")
    await acme.entry("three", type_slug="pages", language="de-DE", status="archived")
    await acme.translate(two, "fr-FR", title="Deux")
    await server.caught_up()
    async with signed_in(server) as visitor:
        for query, titles in (
            ("", ["Three", "Two", "One"]),
            ("type=posts", ["Two", "One"]),
            ("type=pages&status=archived&language=de-DE", ["Three"]),
            ("status=draft", ["Two"]),
            ("language=de-DE", ["Three"]),
            ("type=posts&language=de-DE", []),
            ("locale=fr-FR", ["Three", "Deux", "One"]),
            ("search=T", ["Three", "Two"]),
            ("search=tWo&type=posts", ["Two"]),
            ("search=deux", []),
            ("search=deux&locale=fr-FR", ["Deux"]),
            ("search=%25", []),
            ("search=%00", ["Three", "Two", "One"]),
            ("language=fr-FR", []),
            ("type=posts&locale=it-IT", ["Two", "One"]),
            ("page=0&environment=&type=&status=&language=&locale=", ["Three", "Two", "One"]),
        ):
            total, shown = await search_results(visitor, query)
            assert shown == titles, query
            assert total == f"{len(titles)} {'entry' if len(titles) == 1 else 'entries'}"
        page = (await visitor.get("/dashboard/entries?status=draft")).text
        assert "Writing" in page, "its stage"
        assert "choose a content type" in page
        page = (await visitor.get("/dashboard/entries?type=posts&status=draft&search=two")).text
        exported = "/dashboard/entries/export.csv?type=posts&status=draft&search=two"
        assert exported in unescape(page)
        file = await visitor.get(exported)
        assert (file.status, file.text.count("\r\n")) == (200, 2)
        assert file.headers["Content-Disposition"].startswith("attachment")


async def test_an_invalid_filter_is_refused_by_the_list_and_its_export(
    server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type()
    await acme.entry("one")
    await server.caught_up()
    async with signed_in(server) as visitor:
        for name, value, status, reason in (
            ("type", "nothing", 404, "Content type not found"),
            ("status", "Draft", 400, "Unknown status 'Draft': use published, draft or archived"),
            ("language", "english", 400, "Unsupported language 'english': use a code like"),
            ("locale", "xx-XX", 400, "Unsupported locale 'xx-XX': use a code like"),
        ):
            query = urlencode({"type": "posts", name: value})
            for path in ("entries", "entries/export.csv", "entries/export.xlsx"):
                answer = await visitor.get(f"/dashboard/{path}?{query}")
                assert (answer.status, reason in unescape(answer.text)) == (status, True), value
        page = (await visitor.get("/dashboard/entries?language=fr-FR")).text
        assert '<option value="fr-FR" selected>French (France), fr-FR</option>' in page
        exported = await visitor.get("/dashboard/entries/export.csv?type=posts&language=fr-FR")
        assert (exported.status, exported.headers["X-Content-Exported"]) == (200, "0")


async def test_pages_partition_the_table(server: Server, acme: ContentBuilder) -> None:
    await acme.content_type()
    titles = [f"Entry-{number}" for number in range(60)]
    for title in titles:
        await acme.entry(title.lower())
    await server.caught_up()
    async with signed_in(server) as visitor:
        for query in ("", "type=posts", "search=ENTRY", "type=posts&search=entry"):
            pages = [await search_results(visitor, f"{query}&page={page}") for page in (1, 2, 3, 4)]
            assert {total for total, _ in pages} == {"60 entries"}
            assert [title for _, shown in pages for title in shown] == titles[::-1]
        beyond = (await visitor.get("/dashboard/entries?page=4")).text
        assert "No such page" in beyond
        assert ">Next<" not in beyond


async def test_limits_are_stated_when_they_are_reached(
    server: Server, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type()
    for name in ("one", "two"):
        await acme.entry(name)
    three = await acme.entry("three")
    await server.caught_up()
    monkeypatch.setattr("read_side.export.LIMIT", 2)
    monkeypatch.setattr("read_side.search.MOST", 2)
    async with signed_in(server) as visitor:
        page = (await visitor.get("/dashboard/entries?type=posts")).text
        assert "Export:" in page
        monkeypatch.setattr("api.dashboard.entry_list.LIMITS", replace(LIMITS, rows=2))
        page = (await visitor.get("/dashboard/entries?type=posts")).text
        assert "A file holds the newest 2 entries" in page
        assert "Export (an import takes up to 2 rows):" in page
        assert "3 match" in page
        await acme.delete(three)
        await acme.entry("vier", language="de-DE")
        await server.caught_up()
        page = (await visitor.get("/dashboard/entries?type=posts&language=en-US")).text
        assert "2 entries" in page
        assert "A file holds" not in page
        assert "matches are shown" not in page
        for name in ("one two", "one three"):
            await acme.entry(name.replace(" ", "-"), title=name.title())
        await server.caught_up()
        total, shown = await search_results(visitor, "search=one")
        assert (total, set(shown)) == ("2 entries", {"One Two", "One Three"}), "one is the oldest"
        page = (await visitor.get("/dashboard/entries?search=one")).text
        assert "The newest 2 matches are shown" in page
        assert "matches are shown" not in (await visitor.get("/dashboard/entries?search=v")).text


async def test_an_export_contains_the_entries_that_the_page_counts(
    server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type()
    await acme.entry("one", status="published")
    await acme.entry("vier", language="de-DE")
    await server.caught_up()
    async with signed_in(server) as visitor:
        for query, entries, last in (
            ("", 2, "Language"),
            ("&status=draft", 1, "Body"),
            ("&language=de-DE", 1, "Body"),
            ("&search=one", 1, "Body"),
        ):
            assert (await search_results(visitor, f"type=posts{query}"))[0].startswith(
                f"{entries} entr"
            )
            file = await visitor.get(f"/dashboard/entries/export.csv?type=posts{query}")
            headings, *rows = file.text.splitlines()
            assert (headings.split(",")[-1], len(rows)) == (last, entries)
            assert file.headers["X-Content-Total"] == str(entries)


async def test_entries_of_other_workspaces_and_environments_are_not_found(
    server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type()
    mine = await acme.entry("mine", status="published")
    staged = await acme.staging()
    await staged.content_type()
    elsewhere = await staged.entry("elsewhere")
    await server.workspace("rival")
    await server.caught_up()
    missing = "018f0000-0000-7000-8000-000000000000"
    async with signed_in(server) as visitor, signed_in(server, "secret-of-rival") as rival:
        assert (await search_results(visitor))[1] == ["Mine"]
        assert (await search_results(visitor, "environment=staging"))[1] == ["Elsewhere"]
        assert (await search_results(rival))[1] == []
        assert "Posts" not in (await rival.get("/dashboard/entries")).text
        assert (await visitor.get(f"/dashboard/entries/{mine}")).status == 200
        for path in (f"{mine}", f"{mine}?asOf=2026-01-01", f"{mine}?locale=fr-FR"):
            theirs = await rival.get(f"/dashboard/entries/{path}")
            unknown = await rival.get(f"/dashboard/entries/{path.replace(mine, missing)}")
            assert (theirs.status, unknown.status) == (404, 404)
            assert _bare(theirs.text) == _bare(unknown.text)
        assert (await visitor.get(f"/dashboard/entries/{elsewhere}")).status == 404
        file = await rival.get("/dashboard/entries/export.csv?type=posts")
        assert file.status == 404


def _bare(page: str) -> str:
    """The page without its CSRF token, which differs on each page."""
    return re.sub(r'name="csrf" value="[^"]+"', "", page)


@pytest.fixture
def unchecked_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old events have media files with URLs that are refused now."""
    monkeypatch.setattr("write_side.handlers.workspaces.check_media_url", lambda _url: None)


@pytest.mark.usefixtures("unchecked_urls")
async def test_an_entry_shows_all_its_fields_and_nothing_as_markup(
    server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type(*FIELDS)
    await acme.execute(
        c.PutMedia,
        workspace=acme.scope.workspace,
        media_id="a",
        url="https://cdn.example.com/a.png",
        name="a.png",
        content_type="image/png",
    )
    await acme.execute(
        c.PutMedia,
        workspace=acme.scope.workspace,
        media_id="b",
        url="javascript:alert(1)",
        name="b.png",
        content_type="image/png",
    )
    other = await acme.entry("other")
    gone = await acme.entry("gone")
    entry = await acme.entry(
        "hello",
        fields=raws(
            lead=HOSTILE,
            body=f"<p>One</p><p onclick=x>Two <b>three</b></p>{HOSTILE}",
            views=12,
            shown=True,
            when="2026-01-31T09:30",
            campaign={"from": "2026-01-01", "to": "2026-02-01"},
            mood="g",
            related=[other, gone],
            cover=["a", "b"],
            meta={"z": [1, HOSTILE], "a": None},
            faq=[{"q": "First?"}, {"q": HOSTILE}],
        ),
    )
    await acme.delete(gone)
    await acme.update(entry, title=HOSTILE)
    await server.caught_up()
    async with signed_in(server) as visitor:
        page = (await visitor.get(f"/dashboard/entries/{entry}")).text
        table = (await visitor.get("/dashboard/entries")).text
    names = [
        unescape(name) for name in re.findall(r"<div(?: class=\"section\")?><dt>([^<]+)", page)
    ]
    assert [name for name in names if name in {f.name for f in FIELDS}] == [
        field.name for field in FIELDS
    ]
    for text in (page, table):
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &#34;quotes&#39; {{ 7 * 7 }}" in text
    assert "One\nTwo three\n" in page, "rich text as it reads"
    assert f'href="/dashboard/entries/{other}" lang="en-US">Other</a>' in page
    assert f"<code>{gone}</code>" in page
    assert 'href="https://cdn.example.com/a.png"' in page
    assert 'href="javascript:' not in page
    for shown in ("Good", "2026-01-31T09:30", "First?", ">12<", "Updated"):
        assert shown in page


async def test_an_entry_is_shown_in_other_locales_and_at_other_times(
    server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type()
    entry = await acme.entry("hello", fields=raws(body="A first text"))
    await acme.translate(entry, "fr-FR", title="Bonjour", fields=raws(body="Un texte"))
    await acme.update(entry, fields=raws(body="A second text"))
    await server.caught_up()
    async with signed_in(server) as visitor:
        where = f"/dashboard/entries/{entry}"
        now = (await visitor.get(where)).text
        assert value_of(now) == "A second text"
        assert actions(now) == ["Updated", "Translated", "Created"]
        french = (await visitor.get(f"{where}?locale=fr-FR")).text
        assert (value_of(french), '<h1 lang="fr-FR">Bonjour</h1>' in french) == ("Un texte", True)
        then = unescape(re.findall(r'href="([^"]+asOf=[^"]+)"', now)[-1])
        past = (await visitor.get(then)).text
        assert value_of(past) == "A first text"
        assert "Updated" not in actions(past), "a past version has no later changes"
        assert actions(past)[-1] == "Created"
        assert "Not translated into de-DE" in (await visitor.get(f"{where}?locale=de-DE")).text
        assert (await visitor.get(f"{where}?locale=xx")).status == 400
        assert (await visitor.get(f"{where}?asOf=yesterday")).status == 400


async def test_texts_name_their_language(server: Server, acme: ContentBuilder) -> None:
    await acme.content_type(*FIELDS)
    other = await acme.entry("other", title="Anderes", language="de-DE")
    entry = await acme.entry("hello", fields=raws(lead="A lead", body="A text", related=[other]))
    await acme.translate(entry, "fr-FR", title="Bonjour", fields=raws(body="Un texte"))
    await server.caught_up()
    async with signed_in(server) as visitor:
        where = f"/dashboard/entries/{entry}"
        english = languages((await visitor.get(where)).text)
        french = languages((await visitor.get(f"{where}?locale=fr-FR")).text)
        body = languages((await visitor.get(f"{where}/value?path=body&locale=fr-FR")).text)
        table = languages((await visitor.get("/dashboard/entries?locale=fr-FR")).text)
        activity = languages((await visitor.get("/dashboard/activity")).text)
    assert {"Hello": "en-US", "A text": "en-US", "Anderes": "de-DE"}.items() <= english.items()
    changed = {"After: Un texte": "fr-FR", "After: A text": "en-US"}
    assert changed.items() <= english.items(), "history"
    shown = {"Bonjour": "fr-FR", "Un texte": "fr-FR", "A lead": "en-US", "Anderes": "de-DE"}
    assert shown.items() <= french.items()
    assert body.items() >= {"Bonjour": "fr-FR", "Un texte": "fr-FR"}.items()
    assert table.items() >= {"Bonjour": "fr-FR", "Anderes": "de-DE"}.items()
    assert activity.items() >= {"Hello": "en-US", "Anderes": "de-DE"}.items()


def languages(page: str) -> dict[str, str]:
    """Maps each text to the language of its nearest enclosing element with ``lang``."""
    found = re.findall(r'<(\w+)[^>]* lang="([^"]+)"[^>]*>(.*?)</\1>', page.partition("<body")[2])
    return {re.sub("<[^>]*>", "", text).strip(): language for _, language, text in found}


def actions(page: str) -> list[str]:
    return re.findall(r'class="what">(\w+)', page)


def value_of(page: str) -> str:
    """The value of the page's only field."""
    [text] = re.findall(r'<dd><div class="long" lang="[^"]+">([^<]*)', page)
    return str(text)


@pytest.mark.asyncio(loop_scope="function")  # the events of other tests would count
@pytest.mark.parametrize("may", [(), ("service.view",)])
async def test_positions_are_for_operators(
    may: tuple[str, ...], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.operations.health.KEPT", -1.0)
    acme = await server.workspace(permissions=("content.view", *may))
    await acme.content_type()
    await server.caught_up()
    async with signed_in(server) as visitor:
        page = (await visitor.get("/dashboard/projections")).text
        assert "Up to date" in page
        assert ('id="head">3<' in page, 'id="checkpoint">3<' in page) == (bool(may), bool(may))
        assert ("service.view" in page) is not bool(may)
        await _work(server)
        page = (await visitor.get("/dashboard/projections")).text
        assert "Rebuild</strong>: replaying" in page
        assert "25 %" in page
        assert ("1,000 of 4,000" in page) is bool(may)


async def _work(server: Server) -> None:
    """Records a rebuild in progress."""
    async with connected(server.url) as connection:
        await connection.execute(
            "INSERT INTO projector.work (name, phase, done, total) "
            "VALUES ('rebuild', 'replaying', 1000, 4000)"
        )


async def test_large_values_are_shown_in_pages(server: Server, acme: ContentBuilder) -> None:
    await acme.content_type(*FIELDS)
    words = [f"word-{number}" for number in range(3_000)]
    faq = [{"q": f"question-{number}"} for number in range(450)]
    values = raws(lead=" ".join(words), faq=faq, meta=["m"] * 9_000)
    entry_id = await acme.entry("large", fields=values)
    await server.caught_up()
    async with signed_in(server) as visitor:
        page = (await visitor.get(f"/dashboard/entries/{entry_id}")).text
        assert "Characters 1 to 10,000 of 28,889." in page
        assert "Items 1 to 200 of 450." in page
        assert "question-199<" in page
        assert "question-200<" not in page
        addresses = [
            unescape(one) for one in re.findall(r'href="([^"]*/value[^"]*)">Show all', page)
        ]
        assert [one.partition("path=")[2] for one in addresses] == ["lead", "meta", "faq"]
        shown = [await all_pages(visitor, address) for address in addresses]
        # A page break may split a word.
        assert all(word in shown[0] for word in words[::500])
        assert [f"question-{n}<" in shown[2] for n in (0, 199, 200, 449)] == [True] * 4
        for path in ("nothing", "faq.450.q", "faq"):
            answer = await visitor.get(f"/dashboard/entries/{entry_id}/value?path={path}")
            assert answer.status == (200 if path == "faq" else 404)
        other = await visitor.get(f"/dashboard/entries/{UNKNOWN}/value?path=lead")
        assert other.status == 404


async def all_pages(visitor: Browser, address: str) -> str:
    """The text of all pages of a value, following the links to the next page."""
    text = ""
    while address:
        page = await visitor.get(address)
        assert page.status == 200
        text += page.text
        following = re.search(r'href="([^"]*)" rel="next"', page.text)
        address = unescape(following[1]) if following else ""
    return text


async def _shown_with_covers(server: Server) -> tuple[str, str]:
    """The HTML and Content-Security-Policy of an entry page. Its files are an image, images on
    hosts that a policy cannot name, an image in a data: URL, a document, and one whose URL is
    invalid."""
    acme = await server.workspace()
    await acme.content_type(Field("cover", "Cover", "media", multiple=True))
    files = {
        "image": ("https://cdn.example.com:8443/a.png", "image/png"),
        "odd": ("https://a.com;script-src/b.png", "image/png"),
        "broken": ("https://[a.com/b.png", "image/png"),
        "user": ("https://ann@a.com/b.png", "image/png"),
        "inline": ("data:image/svg+xml,%3Csvg/%3E", "image/svg+xml"),
        "page": ("data:text/html,x", "image/png"),
        "document": ("https://docs.example.com/c.pdf", "application/pdf"),
        "script": ("javascript:alert(1)", "image/png"),
    }
    for media_id, (url, content_type) in files.items():
        await acme.execute(
            c.PutMedia,
            workspace=acme.scope.workspace,
            media_id=media_id,
            url=url,
            name=media_id,
            content_type=content_type,
        )
    entry = await acme.entry("hello", fields=raws(cover=list(files)))
    await server.caught_up()
    async with signed_in(server) as visitor:
        page = await visitor.get(f"/dashboard/entries/{entry}")
        table = await visitor.get("/dashboard/entries")
    assert table.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    return page.text, str(page.headers["Content-Security-Policy"])


@pytest.mark.usefixtures("unchecked_urls")
async def test_thumbnails_may_be_loaded_only_from_the_hosts_of_images(server: Server) -> None:
    page, policy = await _shown_with_covers(server)
    thumbnails = re.findall(r'<img class="thumbnail" src="([^"]+)"', page)
    assert thumbnails == ["https://cdn.example.com:8443/a.png", "data:image/svg+xml,%3Csvg/%3E"]
    assert 'href="data:' not in page, "browsers do not follow it"
    allowed = "img-src 'self' data: https://cdn.example.com:8443;"
    assert policy == CONTENT_SECURITY_POLICY.replace("img-src 'self';", allowed)


@pytest.mark.asyncio(loop_scope="function")
@pytest.mark.usefixtures("unchecked_urls")
async def test_an_operator_may_switch_thumbnails_off(
    database_url: str, repository: Repository
) -> None:
    async with serving(database_url, repository, thumbnails=False) as server:
        page, policy = await _shown_with_covers(server)
    assert "thumbnail" not in page
    assert policy == CONTENT_SECURITY_POLICY
