"""A hundred very similar workspaces: each key sees only its own content and cannot detect the other
workspaces."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from msgspec import Struct

from read_side.pool import Pool
from tests.integration.api.server import BACKGROUND, Answer, Client, Server
from tests.integration.api.tenants import (
    LANGUAGES,
    SLUGS,
    STATUSES,
    TYPES,
    StoredTenant,
    Tenant,
    store_tenant,
    tenants,
)
from write_side.store.access import _MARK
from write_side.store.appender import Appender
from write_side.store.log_reader import HEAD
from write_side.store.recorder import Recorder

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
OWNER = re.compile(r"of-(tenant-\d+)(?:-in-(\w+))?")
UNKNOWN_ID = "019a0000-0000-7000-8000-000000000000"
# Different in every response.
VARYING_HEADERS = ("date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset")
BY_TYPE = (
    "/v1/content/{}",
    "/v1/content?type={}",
    "/v1/content/{}/hello",
    "/v1/content-types/{}",
)
BATCH = 20
numbers = itertools.count(1)


@pytest.mark.slow
@settings(
    max_examples=5,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(new=tenants(BATCH))
async def test_no_key_sees_content_of_another_tenant(server: Server, new: list[Tenant]) -> None:
    """Five batches of twenty tenants in one database; each batch is added to all earlier ones."""
    stored = await asyncio.gather(
        *(store_tenant(server, f"tenant-{next(numbers)}", tenant) for tenant in new)
    )
    await server.caught_up()
    for one in stored:
        for environment in one.tenant.environments:
            await TenantView(server.client(one.secret), one, environment).check()
    for one, other in zip(stored, (*stored[1:], stored[0]), strict=True):
        await check_isolation(server, one, other)


class TenantView:
    """What a key sees of one environment: exactly the content of its tenant."""

    def __init__(self, client: Client, stored: StoredTenant, environment: str) -> None:
        self._client = client
        self._tenant = stored
        self._environment = environment
        self._own = dict(stored.entries(environment))

    async def check(self) -> None:
        await self.check_lists()
        await self.check_types()
        await self.check_singles()

    async def get(self, path: str) -> Answer:
        headers = {"X-Environment": self._environment}
        answer = await self._client.get(path, headers=headers)
        owners = set(OWNER.findall(answer.text))
        assert owners <= {(self._tenant.name, self._environment), (self._tenant.name, "")}, path
        return answer

    async def check_lists(self) -> None:
        for locale in ("en-US", "fr-FR"):
            every = await self.get(f"/v1/content?limit=100&locale={locale}")
            self._check_page(every, set(self._own.values()))
        for type_slug in self._tenant.tenant.types:
            page = await self.get(f"/v1/content?type={type_slug}")
            self._check_page(page, self._ids(type=type_slug))
            for status, language in itertools.product(STATUSES, LANGUAGES):
                query = f"status={status}&language={language}"
                listed = await self.get(f"/v1/content/{type_slug}?{query}")
                own = self._ids(type=type_slug, status=status, language=language)
                self._check_page(listed, own)

    def _ids(self, **properties: str) -> set[str]:
        return {
            entry_id
            for entry, entry_id in self._own.items()
            if all(getattr(entry, name) == value for name, value in properties.items())
        }

    def _check_page(self, page: Answer, expected: set[str]) -> None:
        assert {entry["id"] for entry in page.data} == expected
        assert page.body["pagination"]["total"] == len(expected)

    async def check_types(self) -> None:
        answer = await self.get("/v1/content-types")
        assert [one["slug"] for one in answer.data] == sorted(self._tenant.tenant.types)
        for slug in TYPES:
            one = await self.get(f"/v1/content-types/{slug}")
            assert one.status == (200 if slug in self._tenant.tenant.types else 404)

    async def check_singles(self) -> None:
        for type_slug, slug, language in itertools.product(TYPES, SLUGS, LANGUAGES):
            answer = await self.get(f"/v1/content/{type_slug}/{slug}?language={language}")
            own = self._ids(type=type_slug, slug=slug, language=language)
            assert {answer.body["data"]["id"]} == own if own else answer.status == 404
        await self.check_the_past()

    async def check_the_past(self) -> None:
        """The past holds no content of other tenants either."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        for type_slug, slug in itertools.product(TYPES, SLUGS):
            answer = await self.get(f"/v1/content/{type_slug}/{slug}?asOf={now}")
            own = self._ids(type=type_slug, slug=slug, language="en-US")
            assert {answer.body["data"]["id"]} == own if own else answer.status == 404


class NamedRequest(Struct, frozen=True):
    """A request that names a slug or an id."""

    method: str
    path: str
    named: str
    body: Any = None


def get(path: str, named: str) -> NamedRequest:
    return NamedRequest("GET", path.format(named), named)


def create_in(type_slug: str) -> NamedRequest:
    body = {"contentTypeSlug": type_slug, "title": "New"}
    return NamedRequest("POST", "/v1/content", type_slug, body)


def refer(type_slug: str, field: str, target: str) -> NamedRequest:
    fields = {field: [target] if field == "related" else target}
    body = {"contentTypeSlug": type_slug, "title": "Refers", "fields": fields}
    return NamedRequest("POST", "/v1/content", target, body)


async def check_isolation(server: Server, one: StoredTenant, other: StoredTenant) -> None:
    """Another tenant's names and unknown names get the same response after the same work."""
    client = server.client(one.secret)
    for request, unknown in foreign_and_unknown_requests(one, other):
        await check_same_response_and_work(client, request, unknown)
    shared = [type_slug for type_slug in one.tenant.types if type_slug in other.tenant.types]
    if shared:
        await check_keys_and_positions_of_another(client, server.client(other.secret), shared[0])


def foreign_and_unknown_requests(
    one: StoredTenant, other: StoredTenant
) -> Iterator[tuple[NamedRequest, NamedRequest]]:
    """Requests for what only ``other`` has, each with the same request for an unknown name."""
    for type_slug in set(other.tenant.types) - set(one.tenant.types):
        for path in BY_TYPE:
            yield get(path, type_slug), get(path, "nobodys")
        yield create_in(type_slug), create_in("nobodys")
    taken = {entry.unique_key for entry in one.tenant.entries}
    for entry in other.tenant.entries:
        if entry.type in one.tenant.types and ("production", *entry.unique_key[1:]) not in taken:
            path = f"/v1/content/{entry.type}/{{}}?language={entry.language}"
            yield get(path, entry.slug), get(path, "nobodys")
    for type_slug in one.tenant.types[:1]:
        for entry_id in list(other.ids.values())[:1]:
            yield refer(type_slug, "related", entry_id), refer(type_slug, "related", UNKNOWN_ID)
        yield refer(type_slug, "cover", other.media), refer(type_slug, "cover", "nobodys")


async def check_same_response_and_work(
    client: Client, foreign: NamedRequest, unknown: NamedRequest
) -> None:
    # Warm the cache: loading the tenant's own content type is not compared here.
    await response_and_work(client, unknown)
    first, work = await response_and_work(client, foreign)
    second, same = await response_and_work(client, unknown)
    assert first.status in (400, 404), first
    assert work == same
    assert comparable(first, foreign) == comparable(second, unknown)


def comparable(answer: Answer, request: NamedRequest) -> tuple[Any, ...]:
    """The response without values of the moment; the requested name is replaced by …"""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    size = int(headers.pop("content-length")) - len(request.named) * (request.named in answer.text)
    kept = {name: headers[name] for name in headers.keys() - VARYING_HEADERS}
    return answer.status, kept, size, answer.text.replace(request.named, "…")


async def response_and_work(client: Client, request: NamedRequest) -> tuple[Answer, Any]:
    """The response, and everything asked of the databases for it."""
    body = {"json": request.body} if request.body else {}
    with recorded_work() as work:
        answer = await client.ask(request.method, request.path, **body)
    return answer, work


@contextmanager
def recorded_work() -> Iterator[list[tuple[str, Any]]]:
    work: list[tuple[str, Any]] = []

    def record(kind: type, name: str) -> None:
        function = getattr(kind, name)

        async def recording(self: Any, *args: Any) -> Any:
            task = asyncio.current_task()
            in_background = task is not None and task.get_name() in BACKGROUND
            if args[0] not in (_MARK, HEAD) and not in_background:
                work.append((kind.__name__, args[0] if isinstance(args[0], str) else ""))
            return await function(self, *args)

        patch.setattr(kind, name, recording)

    with pytest.MonkeyPatch.context() as patch:
        record(Pool, "fetch")
        record(Recorder, "fetch")
        record(Appender, "append")
        yield work


async def check_keys_and_positions_of_another(
    client: Client, other: Client, type_slug: str
) -> None:
    """Idempotency keys and positions of one tenant mean nothing to another."""
    n = next(numbers)
    body = {"contentTypeSlug": type_slug, "title": f"Made {n}"}
    headers = {"Idempotency-Key": f"request {n}"}
    first = await client.post(body, headers=headers)
    second = await other.post(body, headers=headers)
    assert first.data["id"] != second.data["id"]
    position = {"X-Content-Position": second.headers["X-Content-Position"]}
    made_up = {"X-Content-Position": "x" * len(position["X-Content-Position"])}
    answers = [await client.get("/v1/content", headers=one) for one in (position, made_up)]
    assert [(one.status, one.text) for one in answers] == [(400, answers[0].text)] * 2
