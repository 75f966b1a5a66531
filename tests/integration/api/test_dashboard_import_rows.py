"""Rows in the import wizard: several rows of one entry, replaced values, and references."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec import Raw

from tests.integration.api.dashboard import signed_in
from tests.integration.api.server import Server
from tests.integration.api.wizard import ATTRIBUTES, Wizard, csv
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side import commands as c
from write_side.domain.definition import Field

pytestmark = pytest.mark.asyncio(loop_scope="module")

HEAD = "Title,Slug,Status,Views"
MAPPED = (*ATTRIBUTES, "views")
_BEFORE = re.compile("<del>(.*?)</del>")
_STATE = re.compile(r'<tr role="row" class="(\w+)">')


@pytest_asyncio.fixture(loop_scope="module")
async def wizard(server: Server, acme: ContentBuilder) -> AsyncIterator[Wizard]:
    await acme.content_type(Field("views", "Views", "number"))
    await acme.entry("old", fields=raws(views=4))
    await server.caught_up()
    async with signed_in(server) as browser:
        yield Wizard(browser)


async def test_rows_of_one_entry_are_shown_and_counted_as_one(wizard: Wizard) -> None:
    rows = (HEAD, "Old,old,,5", "Twice,twice,,1", "Twice,twice,,2", "Old,old,,6", "Old,old,,6")
    import_id = await wizard.previewed(csv(*rows), *MAPPED, update="yes")
    shown = (await wizard.page(import_id, "preview")).text
    assert _STATE.findall(shown) == ["update", "new", "update", "update", "unchanged"]
    assert shown.count("<del>4</del>") == 1, "the entry has no 4 any more after its first row"
    assert shown.count("repeats the slug of row 2") == 2
    assert shown.count("repeats the slug of row 3") == 1
    assert "3 rows repeat the slug of an earlier row" in shown
    assert "Everything is ready" not in shown
    assert 'disabled aria-describedby="hindrance"' in shown
    assert (await wizard.run(import_id)).status == 422
    assert (await wizard.sent(import_id, "repeats", ("repeats", "update"))).status == 303
    shown = (await wizard.page(import_id, "preview")).text
    assert "4 rows are ready" in shown
    assert shown.count('class="number-of-row"') == 5
    repeated = (await wizard.page(import_id, "preview", state="repeats")).text
    assert repeated.count('class="number-of-row"') == 3
    assert "1 new entry. 1 updated entry. 2 rows change an entry of an earlier row. 1 unch" in shown
    assert "Import 2 rows and update 1 entry<" in shown
    assert (await wizard.run(import_id)).status == 303
    message = "Deletes 1 new entry. Restores 1 updated entry."
    assert message in (await wizard.page(import_id)).text
    assert message in (await wizard.page(import_id, "revert")).text
    assert (await wizard.sent(import_id, "revert")).status == 303
    undone = (await wizard.page(import_id)).text
    assert "1 entry was deleted, 1 entry was restored" in undone
    assert "Publication times are not restored" in undone


async def test_repeats_get_a_suffix_or_a_slug_from_another_column(wizard: Wizard) -> None:
    given = await wizard.previewed(csv(HEAD, "Rome,rome,,1", "Roma,rome,,2"), *MAPPED)
    assert "repeats the slug of row 2" in (await wizard.page(given, "preview")).text
    assert (await wizard.sent(given, "repeats", ("repeats", "suffix"))).status == 303
    shown = (await wizard.page(given, "preview")).text
    assert "rome&#39; is the slug of row 2: choose another one" in shown
    assert "repeats the slug of row 2" not in shown, "one reason is enough"
    rows = (HEAD, "Rome,,,1", "Rome,,,2", "Rome,,,1")
    import_id = await wizard.previewed(csv(*rows), *MAPPED)
    assert (await wizard.sent(import_id, "repeats", ("key", "3"))).status == 303
    by_views = (await wizard.page(import_id, "preview")).text
    assert _STATE.findall(by_views) == ["new", "new", "skipped"]
    assert "2 rows are ready" in by_views
    assert "1 row repeats the slug of an earlier row (1 skipped)" in by_views
    assert "slug exists" not in by_views
    assert (await wizard.sent(import_id, "repeats", ("repeats", "suffix"))).status == 303
    shown = (await wizard.page(import_id, "preview")).text
    assert _STATE.findall(shown) == ["new", "new", "skipped"]
    assert "rome-2" in shown
    assert (await wizard.run(import_id)).status == 303


async def test_how_rows_are_read_is_chosen_and_kept(wizard: Wizard) -> None:
    chosen = {"decimal_comma": "yes", "status": "published", "key": "3"}
    import_id = await wizard.previewed(csv("Title;Slug;Status;Views", "A;;;1,5"), *MAPPED, **chosen)
    shown = (await wizard.page(import_id, "preview")).text
    assert _STATE.findall(shown) == ["new"]
    assert "Everything is ready" in shown
    assert "1-5" in shown
    columns = (await wizard.page(import_id, "columns")).text
    assert re.search('name="decimal_comma" value="yes" checked', columns)
    assert re.search('<option value="published" selected>Published', columns)
    assert re.search('<option value="3" selected>Column D, Views', columns)


async def test_a_note_is_shown_with_its_text(wizard: Wizard) -> None:
    import_id = await wizard.previewed(csv(HEAD, "A,,live,1", "B,,,1"), *MAPPED)
    shown = (await wizard.page(import_id, "preview")).text
    cells = re.findall(r'data-label="Status" class="(\w*) *"><span class="text">(\w+)', shown)
    assert cells == [("warning", "live"), ("", "draft")]


async def test_replaced_values_are_shown_to_be_read(
    server: Server, wizard: Wizard, acme: ContentBuilder
) -> None:
    about = Field("about", "About", "reference", multiple=True)
    fields_of_pages = (about, Field("cover", "Cover", "media"), Field("meta", "Meta", "json"))
    await acme.content_type(*fields_of_pages, slug="pages")
    await acme.execute(
        c.PutMedia,
        workspace=acme.scope.workspace,
        media_id="c1",
        url="https://cdn.example.com/h.png",
        name="harbour.png",
        content_type="image/png",
    )
    old = await acme.entry("old", type_slug="pages", title="Old & gold")
    gone = await acme.entry("gone", type_slug="pages")
    fields = {**raws(about=[old, gone], cover="c1"), "meta": Raw(rb'{"a":"\u6f22"}')}
    page = await acme.entry("page", type_slug="pages", fields=fields)
    await acme.execute(c.DeleteEntry, scope=acme.scope, entry_id=gone)
    await server.caught_up()
    import_id = await wizard.uploaded(csv("Title,About,Cover,Meta", "Page,,,[]"), type="pages")
    chosen = {"type": "pages", "update": "yes"}
    targets = ("Title", "about", "cover", "meta")
    assert (await wizard.mapped(import_id, *targets, **chosen)).status == 303
    json = "{&#34;a&#34;:&#34;漢&#34;}"
    before = _BEFORE.findall((await wizard.page(import_id, "preview")).text)
    # The preview shows up to 60 characters of a cell.
    assert before == [f"Old &amp; gold, deleted entry {gone[:-3]}…", "harbour.png", json]

    assert (await wizard.run(import_id)).status == 303
    history = (await wizard.browser.get(f"/dashboard/entries/{page}")).text
    for kind in ("After", "Before"):
        assert f"{kind}: </span>Old &amp; gold, deleted entry {gone}<" in history
        assert f"{kind}: </span>harbour.png<" in history
        assert f"{kind}: </span>{json}<" in history


async def test_a_result_says_why_rows_were_left_out(wizard: Wizard) -> None:
    rows = csv(HEAD, "Old,old,,5", "Wrong,wrong,,many", "New,new,,1")
    import_id = await wizard.imported(rows, *MAPPED)
    shown = (await wizard.page(import_id)).text
    assert re.search(r">Skipped<.*An entry with this slug exists", shown)
    assert re.search(r'class="badge bad">Left out<.*takes a number', shown)
    assert ">Error<" not in shown
    assert (await wizard.sent(import_id, "revert")).status == 303
    assert "<p>1 entry was deleted.</p>" in (await wizard.page(import_id)).text


async def test_the_end_of_a_long_slug_does_not_hide_that_the_entry_was_deleted(
    wizard: Wizard,
) -> None:
    import_id = await wizard.imported(csv(HEAD, f"New,{'n' * 500},,1"), *MAPPED)
    assert (await wizard.sent(import_id, "revert")).status == 303
    shown = (await wizard.page(import_id)).text
    [clamped] = re.findall(r'<span class="[^"]*clamp"[^>]*>(.*?)</span>', shown)
    assert clamped == "n" * 500
    assert "(deleted by the revert)" in shown


async def test_a_frequent_warning_is_counted_below_the_listed_errors(wizard: Wizard) -> None:
    wrong = [f"{n},slug-{n % 9},,{n}" for n in range(18)]
    rows = csv(HEAD, *wrong, *(f"Typo {n},,live,1" for n in range(20)))
    import_id = await wizard.previewed(rows, *MAPPED)
    assert (await wizard.sent(import_id, "repeats", ("repeats", "suffix"))).status == 303
    shown = (await wizard.page(import_id, "preview")).text
    assert shown.count('class="badge bad">Error</span> <span><strong>') == 6
    assert "and 3 other errors in 3 rows, 1 other warning in 20 rows." in shown


async def test_unchanged_and_skipped_rows_have_different_states(wizard: Wizard) -> None:
    rows = csv(HEAD, "Old,old,,4", "Old,old,,5")
    import_id = await wizard.previewed(rows, *MAPPED, update="yes")
    assert (await wizard.sent(import_id, "repeats", ("repeats", "skip"))).status == 303
    shown = (await wizard.page(import_id, "preview")).text
    assert _STATE.findall(shown) == ["unchanged", "skipped"]
    assert "The rows that are not skipped change nothing" in shown


async def test_the_button_shows_that_there_is_nothing_to_import(wizard: Wizard) -> None:
    import_id = await wizard.previewed(csv(HEAD, "Wrong,,,many"), *MAPPED)
    shown = (await wizard.page(import_id, "preview")).text
    assert re.search(r"<button[^>]* disabled [^>]*>Nothing to import<", shown)
    import_id = await wizard.uploaded(csv(HEAD))
    mapping = (await wizard.page(import_id, "columns", type="posts")).text
    assert re.search(r"<button[^>]* disabled [^>]*>Nothing to import<", mapping)


async def test_any_json_is_shown_as_the_value_before(server: Server, acme: ContentBuilder) -> None:
    await acme.content_type(Field("any", "Any", "json"))
    values = ["1e999", "9" * 3_999, '[1e999,"a"]', '["a","b"]', "[]", '"text"']
    for number, value in enumerate(values):
        await acme.entry(f"n{number}", fields={"any": Raw(value.encode())})
    await server.caught_up()
    rows = [f"N{number},n{number},,7" for number in range(len(values))]
    async with signed_in(server) as browser:
        wizard = Wizard(browser)
        import_id = await wizard.previewed(csv(HEAD, *rows), *ATTRIBUTES, "any", update="yes")
        shown = await wizard.page(import_id, "preview")
    found = _BEFORE.findall(shown.text)
    assert [one[:20] for one in found] == [
        "1e999",
        "9" * 20,
        "[1e999,&#34;a&#34;]",
        "a, b",
        "empty",
        "text",
    ]
