"""Refusals of the import wizard: forged forms, unusable files, and requests without permission."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from api.imports import multipart_form
from tests.integration.api.dashboard import HERE, Browser, signed_in
from tests.integration.api.server import Server, serving
from tests.integration.api.wizard import Wizard, csv, multipart
from tests.integration.projector.sample_log import ContentBuilder, rows
from write_side.domain.identity import new_id
from write_side.imports.table import Limits
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILE = csv("Title,Body", "A title,A text")
MAPPED = ("Title", "body")
IMPORTS = "/dashboard/imports"
PAGES = ("", ".json", "/columns", "/columns?type=posts", "/preview", "/problems.csv", "/revert")
FORMS = ("/columns", "/reading", "/run", "/revert")
_INLINE = re.compile(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", re.I)


@pytest_asyncio.fixture(loop_scope="module")
async def posts(acme: ContentBuilder) -> ContentBuilder:
    await acme.content_type()
    return acme


@pytest_asyncio.fixture(loop_scope="module")
async def browser(server: Server, posts: ContentBuilder) -> AsyncIterator[Browser]:
    await server.caught_up()
    async with signed_in(server) as browser:
        yield browser


async def _stored_uploads(server: Server) -> int:
    sql = "SELECT count(*) FROM write_side.upload WHERE workspace = 'acme' || $1"
    [(count,)] = await rows(server.url, sql, server.suffix)
    return int(count)


async def test_an_upload_needs_the_token_of_its_session(server: Server, browser: Browser) -> None:
    token = await browser.token()
    fields = [("type", "posts"), ("language", "en-US")]

    async def sent(*parts: tuple[str, str], **headers: str) -> int:
        data = multipart(parts, "posts.csv", FILE)
        return (await browser.ask("POST", IMPORTS, data=data, headers={**HERE, **headers})).status

    assert await sent(*fields) == 403
    assert await sent(("csrf", "guess"), *fields) == 403
    assert await sent(*fields, ("csrf", token)) == 403, "nothing is read before the token"
    assert await sent(("csrf", token), *fields, **{"Sec-Fetch-Site": "cross-site"}) == 403
    assert await _stored_uploads(server) == 0
    assert await sent(("csrf", token), *fields) == 303
    for step in (*FORMS, "/discard"):
        answer = await browser.ask("POST", f"{IMPORTS}/{new_id()}{step}", data={"csrf": "guess"})
        assert answer.status == 403


async def test_an_upload_is_stopped_at_the_size_limit(
    server: Server, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipart_form, "LIMITS", Limits(upload_bytes=1024 * 1024))
    sent_bytes = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent_bytes
        for _ in range(1_000):
            yield b"x" * 65536
            sent_bytes += 65536

    boundary = "----boundary"

    async def body() -> AsyncIterator[bytes]:
        for name, value in (("csrf", await browser.token()), ("type", "posts")):
            yield _part(boundary, f'name="{name}"', value.encode())
        yield _part(boundary, 'name="file"; filename="posts.csv"', b"")[:-2]
        async for piece in endless():
            yield piece

    headers = {**HERE, "Content-Type": f"multipart/form-data; boundary={boundary}"}
    try:
        answer = await browser.ask("POST", IMPORTS, data=body(), headers=headers)
    except aiohttp.ClientError:
        pass  # The connection is closed while the client is still sending.
    else:
        assert (answer.status, "posts.csv is too large" in answer.text) == (413, True)
    assert sent_bytes < 50 * 1024 * 1024
    assert await _stored_uploads(server) == 0
    small = await Wizard(browser).send(b"x" * (1024 * 1024 + 1))
    assert (small.status, "posts.csv is too large: the limit is 1 MB" in small.text) == (413, True)
    assert '<option value="posts" selected>' in small.text, "what was chosen is kept"


def _part(boundary: str, disposition: str, content: bytes) -> bytes:
    head = f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n"
    return head.encode() + content + b"\r\n"


async def test_an_unusable_file_is_refused_on_the_page(server: Server, browser: Browser) -> None:
    wizard = Wizard(browser)
    for name, document, message in (
        ("posts.txt", FILE, "posts.txt has an unsupported file type; expected .csv or .xlsx"),
        ("posts.xlsx", FILE, "posts.xlsx"),
        ("posts.csv", b"", "posts.csv"),
        ("<b>.csv", b"\0\0", "&lt;b&gt;.csv"),
        ("posts.csv", b"Title\n" + b"x\n" * 2_001, "the limit is 2,000: split it into"),
        ("", FILE, "Choose a file"),
    ):
        answer = await wizard.send(document, name)
        assert (answer.status, message in answer.text) == (422, True), name
        assert 'role="alert">' in answer.text
        assert '<option value="posts" selected>' in answer.text
    for fields, message in (
        ({"type": "nothing"}, "Choose a content type"),
        ({"type": ""}, "Choose a content type"),
        ({"language": "xx-XX"}, "Unsupported language"),
    ):
        answer = await wizard.send(FILE, **fields)
        assert (answer.status, message in answer.text) == (422, True)
    assert await _stored_uploads(server) == 0


@pytest.mark.slow
async def test_strange_values_of_other_fields_do_no_harm(browser: Browser) -> None:
    wizard = Wizard(browser)
    assert (await wizard.send(FILE, "../\u202e'\u00e9" + "x" * 2_000 + ".csv")).status == 303
    for strange in ("\0", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "x" * 4_000):
        fields = {"sheet": strange, "encoding": strange, "delimiter": strange}
        import_id = await wizard.uploaded(FILE, **fields)
        for query in ({"type": strange}, {"type": "posts", "language": strange}):
            assert (await wizard.page(import_id, "columns", **query)).status in (200, 404)
        read = await wizard.sent(import_id, "reading", ("type", "posts"), *fields.items())
        assert read.status in (303, 422)
        mapped = await wizard.mapped(import_id, strange, strange, language=strange)
        assert mapped.status == 422
        mapped = await wizard.mapped(import_id, *MAPPED, type=strange)
        assert mapped.status == 404
        assert (await wizard.sent(import_id, "run", ("digest", strange))).status == 303


async def test_malformed_upload_forms_are_refused(server: Server, browser: Browser) -> None:
    token = await browser.token()
    boundary = "----boundary"
    typed = {**HERE, "Content-Type": f"multipart/form-data; boundary={boundary}"}
    checked = _part(boundary, 'name="csrf"', token.encode())
    field = _part(boundary, 'name="type"', b"x" * 10_000)
    nested = f"--{boundary}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b--\r\n".encode()
    for headers, body in (
        (HERE, {"file": "posts.csv"}),
        ({**HERE, "Content-Type": "multipart/form-data"}, b"x"),
        ({**HERE, "Content-Type": "application/json"}, b"{}"),
        (typed, b""),
        (typed, b"no boundary\r\n" * 10),
        (typed, checked + f"--{boundary}\r\nContent-Disposition".encode()),
        (typed, checked + field),
        (typed, checked + nested),
        (typed, checked + _part(boundary, 'name="type"', b"\xff\xfe") + f"--{boundary}--".encode()),
    ):
        answer = await browser.ask("POST", IMPORTS, data=body, headers=headers)
        assert (answer.status, "<h1" in answer.text) == (400, True), body
    many = b"".join(_part(boundary, f'name="f{n}"', b"") for n in range(50))
    answer = await browser.ask("POST", IMPORTS, data=checked + many, headers=typed)
    assert (answer.status, "Choose a file" in answer.text) == (422, True)


@pytest.mark.asyncio(loop_scope="function")
@pytest.mark.slow
async def test_the_upload_does_not_wait_for_slow_and_disconnected_clients(
    database_url: str, repository: Repository, logged: Callable[[Any], Callable[[], str]]
) -> None:
    read_log = logged("json")
    async with serving(database_url, repository, client_timeout=0.5) as server:
        acme = await server.workspace()
        await acme.content_type()
        async with signed_in(server) as browser:
            token = await browser.token()
            boundary = "----boundary"
            stop = asyncio.Event()

            async def body() -> AsyncIterator[bytes]:
                yield _part(boundary, 'name="csrf"', token.encode())
                yield _part(boundary, 'name="file"; filename="posts.csv"', b"Title")[:-2]
                await stop.wait()

            headers = {**HERE, "Content-Type": f"multipart/form-data; boundary={boundary}"}
            answer = await browser.ask("POST", IMPORTS, data=body(), headers=headers)
            stop.set()
            assert (answer.status, "timed out" in answer.text) == (408, True)

            async def steady() -> AsyncIterator[bytes]:
                yield _part(boundary, 'name="csrf"', token.encode())
                yield _part(boundary, 'name="type"', b"posts")
                yield _part(boundary, 'name="file"; filename="posts.csv"', b"Title\r\n")[:-2]
                yield b"A title that is long enough for eight seconds\r\n" * 1_400
                await asyncio.sleep(0.7)
                yield f"The end\r\n--{boundary}--\r\n".encode()

            answer = await browser.ask("POST", IMPORTS, data=steady(), headers=headers)
            assert answer.status == 303

            sent = f"POST {IMPORTS} HTTP/1.1\r\nHost: h\r\nCookie: {_cookie(browser)}\r\n"
            sent += "Sec-Fetch-Site: same-origin\r\nContent-Length: 5000\r\n"
            sent += f"Content-Type: multipart/form-data; boundary={boundary}\r\n\r\n"
            address = server.session._base_url
            assert address is not None
            _, writer = await asyncio.open_connection(address.host, address.port)
            writer.write(sent.encode() + _part(boundary, 'name="csrf"', token.encode()))
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            assert (await browser.get("/dashboard/imports")).status == 200
        assert await _stored_uploads(server) == 1
    assert '"level": "error"' not in read_log()
    assert "Traceback" not in read_log()


def _cookie(browser: Browser) -> str:
    return "; ".join(f"{one.key}={one.value}" for one in browser.session.cookie_jar)


async def test_imports_of_other_workspaces_and_environments_are_not_found(
    server: Server, browser: Browser, posts: ContentBuilder
) -> None:
    """Their pages are the same as those of an import that does not exist."""
    await (await posts.staging()).content_type()
    other = await server.workspace("other")
    await other.content_type()
    wizard = Wizard(browser)
    done = await wizard.imported(FILE, *MAPPED)
    begun = await wizard.previewed(csv("Title", "Another"), "Title")
    digest = await wizard.digest(begun)
    await server.caught_up()
    async with signed_in(server, "secret-of-other") as stranger:
        for visitor, environment in ((stranger, ""), (browser, "staging")):
            place = Wizard(visitor, environment)
            for step in PAGES:
                answers = [
                    await place.page(f"{one}{step}") for one in (done, begun, new_id(), "nothing")
                ]
                _are_alike([answer.status for answer in answers], [a.text for a in answers])
            for step in FORMS:
                answers = [
                    await place.sent(
                        one,
                        step.strip("/"),
                        ("digest", digest),
                        ("type", "posts"),
                        ("target", "Title"),
                        ("target", ""),
                    )
                    for one in (done, begun, new_id(), "nothing")
                ]
                _are_alike([answer.status for answer in answers], [a.text for a in answers])
            assert done not in (await visitor.get(IMPORTS, params=place._environment)).text
    report = (await wizard.page(f"{done}.json")).body
    assert report["reverted"] is None
    assert (await wizard.page(begun, "preview")).status == 200
    assert (await wizard.run(begun)).status == 303


_VARYING = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|nothing|[0-9a-f]{96}")


def _are_alike(statuses: list[int], pages: list[str]) -> None:
    """The same pages except for the requested id and the tokens."""
    assert statuses == [404] * len(statuses)
    assert len({_VARYING.sub("", page) for page in pages}) == 1


async def test_a_key_that_may_only_view_sees_the_results_of_imports(
    server: Server, browser: Browser
) -> None:
    wizard = Wizard(browser)
    done, begun = await wizard.imported(FILE, *MAPPED), await wizard.uploaded(FILE)
    await server.key("secret-of-a-reader", "acme", ("content.view",))
    async with signed_in(server, "secret-of-a-reader") as reader:
        reading = Wizard(reader)
        result = await reading.page(done)
        assert (result.status, "Revert" in result.text) == (200, False)
        assert (await reading.page(f"{done}.json")).body["counts"]["new"] == 1
        assert "/imports/new" not in (await reader.get(IMPORTS)).text
        assert (await reader.get(f"{IMPORTS}/new")).status == 403
        assert (await reading.send(FILE)).status == 403
        for one in (done, begun):
            for step in ("columns", "preview", "problems.csv", "revert"):
                assert (await reading.page(one, step)).status == 403
            for form_of in (*FORMS, "/discard"):
                assert (await reading.sent(one, form_of.strip("/"))).status == 403
    assert (await wizard.page(f"{done}.json")).body["reverted"] is None


async def test_no_step_has_a_script_or_a_style_in_it(server: Server, browser: Browser) -> None:
    wizard = Wizard(browser)
    hostile = csv('"<script>alert(1)</script>",Body', '"<img src=y>",\'=1+1')
    begun = await wizard.previewed(hostile, "Title", "body")
    done = await wizard.imported(FILE, *MAPPED)
    for path in ("new", f"{begun}/columns", f"{begun}/preview", done, f"{done}/revert"):
        page = await browser.get(f"{IMPORTS}/{path}")
        assert page.status == 200
        assert page.headers["Cache-Control"] == "no-store"
        assert not _INLINE.search(page.text), path
        assert "<img" not in page.text
