"""The steps of the import wizard over HTTP. Each import runs only once."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from api.dashboard import templates
from api.dashboard.wizard import columns_step, preview_step, preview_summary
from tests.integration.api.dashboard import signed_in
from tests.integration.api.server import Server
from tests.integration.api.wizard import ATTRIBUTES, Wizard, csv
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import BODY, ContentBuilder, raws
from tests.integration.write_side.append_locks import holding
from tests.workbooks import PARTS, sheet, workbook
from write_side.domain.definition import Field
from write_side.domain.identity import Actor
from write_side.imports import preview
from write_side.imports.csv_reader import csv_table
from write_side.imports.importer import ImportRun, run_import
from write_side.imports.request import ImportRequest

pytestmark = pytest.mark.asyncio(loop_scope="module")

VIEWS = Field("views", "Views", "number")
NEEDED = Field("body", "Body", "text", required=True)
HEAD = "Title,Slug,Status,Views"
MAPPED = (*ATTRIBUTES, "views")
ROWS = csv(
    HEAD,
    "New,,published,1",
    "Old,old,,5",
    "Wrong,wrong,draft,many",
    "Same,same,draft,7",
)


@pytest_asyncio.fixture(loop_scope="module")
async def wizard(server: Server, acme: ContentBuilder) -> AsyncIterator[Wizard]:
    await acme.content_type(VIEWS, BODY)
    await acme.entry("old", fields=raws(views=4, body="stays"))
    await acme.entry("same", title="Same", fields=raws(views=7))
    await server.caught_up()
    async with signed_in(server) as browser:
        yield Wizard(browser)


async def test_a_file_goes_through_every_step_and_back(
    wizard: Wizard, server: Server, acme: ContentBuilder
) -> None:
    import_id = await wizard.uploaded(ROWS)
    mapping = await wizard.page(import_id, "columns", type="posts")
    assert mapping.text.count("From its heading") == 4
    assert "Title: mapped" in mapping.text
    mapping = await wizard.page(import_id, "columns", type="posts", language="zz-ZZ")
    assert "written in en-US" in mapping.text, "there is no such language"

    checked = await wizard.mapped(import_id, "Title", "", "", "Title", check="yes")
    assert "Also chosen for column D" in checked.text
    assert "<html" not in checked.text, "only what the choice changes"

    answer = await wizard.mapped(import_id, *MAPPED, update="yes")
    assert answer.status == 303
    shown = await wizard.page(import_id, "preview")
    assert "Import 1 row and update 1 entry, leave out 1 with errors" in shown.text
    assert _states(shown.text) == ["new", "update", "error", "unchanged"]
    assert "<del>4</del>" in shown.text
    assert 'class="problem' in shown.text
    [why] = re.findall(r'class="bare state">.*<span class="failing">([^<]+)', shown.text)
    assert why.startswith("Views: "), "though its column may be out of sight"

    answer = await wizard.run(import_id)
    assert (answer.status, answer.headers["Location"]) == (303, f"/dashboard/imports/{import_id}")
    report = (await wizard.page(f"{import_id}.json")).body
    assert [row["state"] for row in report["rows"]] == ["new", "update", "error", "unchanged"]
    assert report["counts"] == {"new": 1, "update": 1, "unchanged": 1, "skipped": 0, "error": 1}
    assert report["by"] == "secret-of-acme"
    result = await wizard.page(import_id)
    new = report["rows"][0]["entryId"]
    assert f'href="/dashboard/entries/{new}"' in result.text
    assert (await wizard.browser.get(f"/dashboard/entries/{new}")).status == 200
    assert (await server.client().get("/v1/content/posts/new")).data["fields"]["views"] == 1

    await acme.update(new, title="Somebody was here")
    assert (await wizard.page(import_id, "revert")).status == 200
    answer = await wizard.sent(import_id, "revert")
    assert (answer.status, answer.headers["Location"]) == (303, f"/dashboard/imports/{import_id}")
    result = await wizard.page(import_id)
    assert "<p>1 entry was restored." in result.text
    assert re.findall(r'class="then">([^<]+)', result.text) == [
        "0 deleted by the revert",
        "1 restored by the revert",
    ]
    assert "1 entry was left as it is" in result.text
    assert "operator test" in result.text
    again = await wizard.page(import_id, "revert")
    assert again.status == 303, "it cannot be reverted again"
    assert (await server.client().get("/v1/content/posts/old")).data["fields"]["views"] == 4
    past = await wizard.browser.get("/dashboard/imports")
    assert "Reverted" in past.text
    assert "secret-of-acme" in past.text


async def test_an_import_with_any_id_is_shown_and_reverted(
    wizard: Wizard, server: Server, acme: ContentBuilder
) -> None:
    """The command line sets the import's id with `--import-id`."""
    table = csv_table(csv("Title,Views", "Anew,1"), "prices.csv")
    request = ImportRequest(acme.scope, "posts", "prices 2026/11", ("Title", "views"))
    await run_import(ImportRun(server.repository, table, request, Actor("operator", "ann")))
    await server.caught_up()
    listed = (await wizard.browser.get("/dashboard/imports")).text
    [link] = re.findall(r'href="(/dashboard/imports/prices[^"]*)"', listed)
    assert "Import of prices.csv" in (await wizard.browser.get(link)).text
    assert (await wizard.browser.get(f"{link}.json")).body["importId"] == "prices 2026/11"
    data = {"csrf": await wizard.browser.token()}
    assert (await wizard.browser.ask("POST", f"{link}/revert", data=data)).status == 303
    assert "1 entry was deleted." in (await wizard.browser.get(link)).text


async def test_uploads_that_are_not_imported_are_listed(
    wizard: Wizard, server: Server, acme: ContentBuilder
) -> None:
    await acme.staging()
    import_id = await wizard.uploaded(ROWS, "unfinished.csv")
    listed = (await wizard.browser.get("/dashboard/imports")).text
    assert f'href="/dashboard/imports/{import_id}/columns"' in listed
    staging = await wizard.browser.get("/dashboard/imports?environment=staging")
    assert "unfinished.csv" not in staging.text
    await wizard.mapped(import_id, *MAPPED)
    listed = (await wizard.browser.get("/dashboard/imports")).text
    assert f'href="/dashboard/imports/{import_id}/preview"' in listed
    other = await wizard.uploaded(ROWS, "wrong.csv")
    for _ in range(2):
        discarded = await wizard.sent(other, "discard")
        assert (discarded.status, discarded.headers["Location"]) == (303, "/dashboard/imports")
    assert (await wizard.page(other, "columns")).status == 404
    await wizard.run(import_id)
    await server.caught_up()
    listed = (await wizard.browser.get("/dashboard/imports")).text
    assert "Not imported yet" not in listed
    assert listed.count("unfinished.csv") == 1


async def test_an_import_takes_effect_once(wizard: Wizard, server: Server) -> None:
    import_id = await wizard.previewed(ROWS, *MAPPED)
    digest = await wizard.digest(import_id)
    answers = await asyncio.gather(*(wizard.run(import_id, digest) for _ in range(3)))
    answers += [await wizard.run(import_id, digest), await wizard.run(import_id, "another")]
    where = f"/dashboard/imports/{import_id}"
    assert {(answer.status, answer.headers["Location"]) for answer in answers} == {(303, where)}
    for step in ("columns", "preview", "problems.csv"):
        early = await wizard.page(import_id, step)
        assert (early.status, early.headers["Location"]) == (303, where)
    listed = await server.client().get("/v1/content/posts?status=published")
    assert listed.body["pagination"]["total"] == 1
    reverts = await asyncio.gather(*(wizard.sent(import_id, "revert") for _ in range(2)))
    assert {answer.status for answer in reverts} == {303}
    report = (await wizard.page(f"{import_id}.json")).body
    assert len(report["reverted"]["deleted"]) == 1


async def test_an_import_continues_when_its_page_is_left(wizard: Wizard, server: Server) -> None:
    import_id = await wizard.previewed(ROWS, *MAPPED)
    digest = await wizard.digest(import_id)
    token = await wizard.browser.token()
    async with holding(server.url) as hold:
        leaving = asyncio.create_task(
            wizard.browser.ask(
                "POST",
                f"/dashboard/imports/{import_id}/run",
                data={"csrf": token, "digest": digest},
            )
        )
        await hold.until_blocked()
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        await hold.release()

    async def is_done() -> bool:
        return (await wizard.page(f"{import_id}.json")).status == 200

    await until(is_done)
    assert (await wizard.run(import_id, digest)).status == 303


async def test_changes_since_the_preview_are_shown_for_confirmation(
    wizard: Wizard, server: Server, acme: ContentBuilder
) -> None:
    import_id = await wizard.previewed(ROWS, *MAPPED)
    await acme.entry("new")
    answer = await wizard.run(import_id)
    assert answer.status == 409
    assert "an entry with the slug &#39;new&#39; has been created since" in answer.text
    assert 'disabled aria-describedby="hindrance"' in answer.text, "nothing is left to import"
    assert (await wizard.page(import_id)).status == 404

    other = await wizard.previewed(ROWS, *MAPPED)
    stale = await wizard.digest(other)
    assert (await wizard.mapped(other, *MAPPED, update="yes")).status == 303
    answer = await wizard.run(other, stale)
    assert (answer.status, "the preview has been replaced" in answer.text) == (409, True)
    await acme.revise_type(BODY)
    await server.caught_up()
    answer = await wizard.run(other)
    assert (answer.status, answer.headers["Location"].split("/")[-1]) == (303, "columns")
    assert "Field &#39;views&#39; does not exist" in (await wizard.page(other, "columns")).text
    await acme.revise_type(VIEWS, BODY)
    await server.caught_up()
    assert (await wizard.run(other)).headers["Location"] == f"/dashboard/imports/{other}"


async def test_columns_show_missing_and_duplicate_targets(
    server: Server, wizard: Wizard, acme: ContentBuilder
) -> None:
    await acme.revise_type(VIEWS, NEEDED)
    await server.caught_up()
    import_id = await wizard.uploaded(ROWS)
    answer = await wizard.mapped(import_id, "", "Slug", "Status", "views")
    assert answer.status == 422
    assert "No column is mapped to Title. No column is mapped to Body." in answer.text
    answer = await wizard.mapped(import_id, "Title", "views", "", "views", check="yes")
    assert answer.status == 200
    assert "Body: choose a column" in answer.text
    assert "Also chosen for column D" in answer.text
    assert "Also chosen for column B" in answer.text
    for targets in (("Title",), ("Title", "nothing", "", "")):
        assert (await wizard.mapped(import_id, *targets)).status in (409, 422)
    answer = await wizard.mapped(import_id, *MAPPED, language="xx-XX")
    assert answer.status == 422
    assert (await wizard.mapped(import_id, *MAPPED, type="nothing")).status == 404


@pytest.mark.slow
async def test_a_refused_form_has_a_url_that_can_be_reloaded(
    wizard: Wizard, server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type(slug="topics")
    await server.caught_up()
    document = ROWS.replace(b"Old", "Новости дня".encode("cp1251"))
    import_id = await wizard.uploaded(document, type="topics", language="fr-FR")
    where = f"/dashboard/imports/{import_id}"
    chosen = {"type": "topics", "language": "fr-FR"}
    again = f"{where}/columns?type=topics&language=fr-FR"
    for answer in (
        await wizard.mapped(import_id, "", "Slug", "", "", **chosen),
        await wizard.mapped(import_id, "Title", **chosen),
        await wizard.sent(import_id, "reading", *chosen.items(), ("encoding", "utf-8")),
    ):
        assert answer.status in (409, 422)
        assert answer.headers["HX-Push-Url"] == again
    columns = await wizard.browser.get(again)
    assert "into Topics, written in fr-FR" in columns.text
    assert "Windows-1251, Cyrillic was detected" in columns.text
    assert "<li>Новости дня</li>" in columns.text
    checked = await wizard.mapped(import_id, "", "Slug", "", "", **chosen, check="yes")
    assert "HX-Push-Url" not in checked.headers, "only what is missing is shown"
    cut = await wizard.page(import_id, "columns")
    assert (cut.status, cut.headers["Location"]) == (303, "/dashboard/imports/new")

    assert (await wizard.mapped(import_id, *ATTRIBUTES, "", **chosen)).status == 303
    shown = await wizard.digest(import_id)
    await acme.entry("new", type_slug="topics", language="fr-FR")
    for digest in ("another", shown):
        answer = await wizard.run(import_id, digest)
        assert (answer.status, answer.headers["HX-Push-Url"]) == (409, f"{where}/preview")
    for form, page in (("run", "preview"), ("reading", "columns"), ("discard", "columns")):
        answer = await wizard.page(import_id, form)
        assert (answer.status, answer.headers["Location"]) == (303, f"{where}/{page}")
    answer = await wizard.send(ROWS, "posts.txt", language="de-DE")
    assert answer.headers["HX-Push-Url"] == "/dashboard/imports/new?type=posts&language=de-DE"


async def test_many_columns_of_many_fields_share_one_list(
    wizard: Wizard, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_step, "MAX_OPTIONS", 10)
    import_id = await wizard.uploaded(ROWS)
    page = await wizard.page(import_id, "columns", type="posts")
    assert page.text.count('list="targets"') == 4
    assert page.text.count('<option value="views"') == 1
    answer = await wizard.mapped(import_id, "Title", "Slug", "", "guess")
    assert (answer.status, "Field &#39;guess&#39; does not exist" in answer.text) == (422, True)


@pytest.mark.slow
async def test_saved_mappings_are_proposed_and_chosen_ones_kept(
    wizard: Wizard,
) -> None:
    strange = csv("Heading,Number", "A title,3")
    import_id = await wizard.previewed(strange, "Title", "views", save="yes", update="yes")
    for back in ({}, {"type": "posts", "language": "en-US"}):
        chosen = await wizard.page(import_id, "columns", **back)
        assert re.search(r'name="update" value="yes" checked', chosen.text)
        assert chosen.text.count('value="views" selected') == 1
    other = await wizard.page(import_id, "columns", type="posts", language="de-DE")
    assert re.search(r'name="update" value="yes" checked', other.text)
    assert '<input type="hidden" name="language" value="de-DE">' in other.text
    another = await wizard.uploaded(strange)
    assert (await wizard.page(another, "columns", type="posts")).text.count(
        "From the saved mapping"
    ) == 2


@pytest.mark.slow
async def test_a_file_is_read_again_with_other_settings(wizard: Wizard) -> None:
    import_id = await wizard.previewed(csv("Title;Views", "Überall;1"), "Title", "views")
    chosen = {"type": "posts", "language": "de-DE", "delimiter": "comma", "encoding": "cp1252"}
    answer = await wizard.sent(import_id, "reading", *chosen.items())
    assert answer.status == 303
    assert "language=de-DE" in answer.headers["Location"]
    mapping = await wizard.page(import_id, "columns", type="posts")
    assert "Title;Views" in mapping.text
    assert "Ãœberall;1" in mapping.text
    assert (await wizard.page(import_id, "preview")).status == 303, "it must be checked again"

    sheets = {
        **PARTS,
        "xl/workbook.xml": PARTS["xl/workbook.xml"].replace(
            "</sheets>", '<sheet name="Two" sheetId="2" r:id="r4"/></sheets>'
        ),
        "xl/_rels/workbook.xml.rels": PARTS["xl/_rels/workbook.xml.rels"].replace(
            "</Relationships>",
            re.sub('Id="r1"(.*)sheet1', r'Id="r4"\1sheet2', _relationship()) + "</Relationships>",
        ),
        "xl/worksheets/sheet2.xml": sheet(
            '<row r="1"><c r="A1" t="inlineStr"><is><t>Other</t></is></c></row>'
            '<row r="2"><c r="A2"><v>5</v></c></row>'
        ),
    }
    book = workbook(
        '<row r="1"><c r="A1" t="inlineStr"><is><t>Title</t></is></c></row>'
        '<row r="2"><c r="A2" t="inlineStr"><is><t>One</t></is></c></row>',
        sheets,
    )
    import_id = await wizard.uploaded(book, "posts.xlsx")
    two = {"type": "posts", "language": "en-US", "sheet": "Two"}
    assert (await wizard.sent(import_id, "reading", *two.items())).status == 303
    assert "Other" in (await wizard.page(import_id, "columns", type="posts")).text
    answer = await wizard.sent(import_id, "reading", *{**two, "sheet": "Three"}.items())
    assert (answer.status, "Three" in answer.text) == (422, True)
    assert '<details class="card" open>' in answer.text, "the sheet can be chosen at once"


def _relationship() -> str:
    found = re.search(r'<Relationship Id="r1".*?/>', PARTS["xl/_rels/workbook.xml.rels"], re.S)
    assert found
    return found[0]


async def test_rows_are_filtered_and_paged(wizard: Wizard, monkeypatch: pytest.MonkeyPatch) -> None:
    many = csv(HEAD, *(f"Row {n},row-{n},,{'x' if n % 2 else n}" for n in range(120)))
    import_id = await wizard.previewed(many, *MAPPED)
    assert _states((await wizard.page(import_id, "preview")).text) == ["new", "error"] * 25
    errors = await wizard.page(import_id, "preview", state="error", page="2")
    assert _states(errors.text) == ["error"] * 10
    assert "51 to 60 of 60" in errors.text
    assert "60 rows, first in row 3" in errors.text
    for query in ({"state": "skipped"}, {"page": "9"}):
        none = await wizard.page(import_id, "preview", **query)
        assert (none.status, "No such rows" in none.text) == (200, True)
    monkeypatch.setattr(preview_step, "CELLS", 40)
    assert len(_states((await wizard.page(import_id, "preview")).text)) == 10
    file = await wizard.page(import_id, "problems.csv")
    lines = file.text.removeprefix("\ufeff").splitlines()
    assert lines[0] == "Row,Severity,Column,Cell,Problem"
    assert (len(lines), lines[1].startswith("3,error,Views,x,")) == (61, True)
    assert "attachment" in file.headers["Content-Disposition"]

    assert (await wizard.run(import_id)).status == 303
    left_out = await wizard.page(import_id, outcome="error")
    assert _states(left_out.text) == ["error"] * 50
    assert "1 to 50 of 60" in left_out.text


async def test_problems_beyond_the_limit_are_counted(
    wizard: Wizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "MOST_NOTES", 1)
    import_id = await wizard.previewed(csv(HEAD, "A,,,x", ",,,x", ",,,x"), *MAPPED)
    shown = (await wizard.page(import_id, "preview")).text
    assert _states(shown) == ["error"] * 3
    assert "The file has 2 more errors, which are neither listed nor counted here" in shown
    assert shown.count("and 1 more<") == 2
    file = await wizard.page(import_id, "problems.csv")
    assert [line.split(",")[0] for line in file.text.splitlines()[1:]] == ["2", "3", "3", "4", "4"]
    assert file.text.splitlines()[3] == "3,,,,and 1 more error"


async def test_problems_and_pages_are_made_in_a_thread(
    wizard: Wizard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may have thousands of problems, and a page 40,000 options."""
    import_id = await wizard.previewed(ROWS, *MAPPED)
    threads: list[threading.Thread] = []

    def noting(work: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **named: Any) -> Any:
            threads.append(threading.current_thread())
            return work(*args, **named)

        return noted

    for module, name in (
        (preview_summary, "Problem"),
        (preview_summary, "encoded"),
        (templates, "_render"),
        (columns_step, "column_views"),
        (columns_step, "non_ascii_cells"),
    ):
        monkeypatch.setattr(module, name, noting(getattr(module, name)))
    for page in ("preview", "problems.csv", "columns"):
        assert (await wizard.page(import_id, page)).status == 200
    assert (await wizard.mapped(import_id, *MAPPED, check="1")).status == 200
    assert len(threads) > 4
    assert threading.main_thread() not in threads


def _states(page: str) -> list[str]:
    """The states of the table's rows, in order."""
    return re.findall(r'<tr role="row" class="(\w+)">', page)


async def test_the_columns_page_explains_headings_and_languages(
    server: Server, wizard: Wizard, acme: ContentBuilder
) -> None:
    await acme.content_type(Field("created", "Created", "text"), slug="plays")
    await server.caught_up()
    file = csv("Title,Created,Language", "Hamlet,1600,de-DE")
    import_id = await wizard.uploaded(file, type="plays")
    columns = (await wizard.page(import_id, "columns", type="plays")).text
    assert "and imports ignore it. To fill the field Created, choose that field" in columns
    assert "looks like the headings" not in columns
    written = "written in the language that each row names, or en-US"
    assert f"into Plays, {written}" in columns
    targets = ("Title", "created", "Language")
    assert (await wizard.mapped(import_id, *targets, type="plays")).status == 303
    preview = await wizard.page(import_id, "preview")
    assert written in preview.text
    assert '<span class="text" lang="de-DE">Hamlet</span>' in preview.text
    assert (await wizard.run(import_id)).status == 303
    result = (await wizard.page(import_id)).text
    assert "written in en-US unless a row names another language" in result

    import_id = await wizard.uploaded(csv("Our plays", "Title", "Hamlet"), type="plays")
    columns = (await wizard.page(import_id, "columns", type="plays")).text
    assert "Row 2 looks like the headings: delete the rows above it" in columns
