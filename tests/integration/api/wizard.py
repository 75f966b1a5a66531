"""An import wizard client that behaves like a browser without scripts."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

import aiohttp

from tests.integration.api.dashboard import Browser
from tests.integration.api.server import Answer

ATTRIBUTES = ("Title", "Slug", "Status")
_DIGEST = re.compile(r'name="digest" value="([0-9a-f]+)"')


def csv(*rows: str) -> bytes:
    return "\r\n".join(rows).encode()


def multipart(fields: Sequence[tuple[str, str]], name: str, document: bytes) -> aiohttp.FormData:
    """The upload form, with the file as its last part."""
    form = aiohttp.FormData(quote_fields=False, default_to_multipart=True)
    for field, value in fields:
        form.add_field(field, value)
    form.add_field("file", io.BytesIO(document), filename=name, content_type="text/csv")
    return form


class Wizard:
    """Uses the import wizard in one environment of the session's workspace."""

    def __init__(self, browser: Browser, environment: str = "") -> None:
        self.browser = browser
        self._environment = {"environment": environment} if environment else {}

    async def send(
        self,
        document: bytes,
        name: str = "posts.csv",
        *,
        token: str | None = None,
        **fields: str,
    ) -> Answer:
        csrf = await self.browser.token() if token is None else token
        chosen = {"csrf": csrf, "type": "posts", "language": "en-US", **fields}
        form = multipart(list(chosen.items()), name, document)
        return await self.browser.ask(
            "POST", "/dashboard/imports", params=self._environment, data=form
        )

    async def uploaded(self, document: bytes, name: str = "posts.csv", **fields: str) -> str:
        """Upload a document; return the id of the upload."""
        answer = await self.send(document, name, **fields)
        assert answer.status == 303, answer.text
        where = urlsplit(str(answer.headers["Location"]))
        _, _, _, import_id, step = where.path.split("/")
        assert step == "columns"
        assert parse_qs(where.query)["type"] == [fields.get("type", "posts")]
        return import_id

    async def mapped(self, import_id: str, *targets: str, **fields: str) -> Answer:
        chosen = {"type": "posts", "language": "en-US", **fields}
        return await self.sent(
            import_id, "columns", *chosen.items(), *(("target", one) for one in targets)
        )

    async def previewed(self, document: bytes, *targets: str, **fields: str) -> str:
        """Upload a document and preview it; return the id of the upload."""
        import_id = await self.uploaded(document)
        answer = await self.mapped(import_id, *targets, **fields)
        assert answer.status == 303, answer.text
        assert "/preview" in answer.headers["Location"]
        return import_id

    async def digest(self, import_id: str) -> str:
        page = await self.page(import_id, "preview")
        found = _DIGEST.search(page.text)
        assert found, page.text
        return found[1]

    async def run(self, import_id: str, digest: str | None = None) -> Answer:
        """Submit the preview's form."""
        digest = digest or await self.digest(import_id)
        return await self.sent(import_id, "run", ("digest", digest))

    async def imported(self, document: bytes, *targets: str, **fields: str) -> str:
        import_id = await self.previewed(document, *targets, **fields)
        answer = await self.run(import_id)
        assert answer.status == 303, answer.text
        return import_id

    async def page(self, import_id: str, *step: str, **query: str) -> Answer:
        path = "/".join(("/dashboard/imports", import_id, *step))
        return await self.browser.get(path, params={**self._environment, **query})

    async def sent(self, import_id: str, step: str, *fields: tuple[str, str]) -> Answer:
        data = [("csrf", await self.browser.token()), *fields]
        path = f"/dashboard/imports/{import_id}/{step}"
        return await self.browser.ask("POST", path, params=self._environment, data=data)
