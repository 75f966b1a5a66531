"""Rate limits over HTTP: exact across processes, shown on every response, and never an obstacle."""

from __future__ import annotations

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.rate_limits.leases import AWAY
from tests.integration.api.server import Answer, Server, malformed_http, room, serving
from tests.integration.live_projector import connected, until
from write_side.repository import Repository
from write_side.store.rate_limits import APPLICATION_NAME

PATH = "/v1/content"


def limit_of(answer: Answer) -> tuple[int, int]:
    """The limit and the remaining requests; checks the reset time too."""
    reset = int(answer.headers["X-RateLimit-Reset"])
    assert reset % 60 == 0
    assert 0 <= reset - time.time() <= 61
    return int(answer.headers["X-RateLimit-Limit"]), int(answer.headers["X-RateLimit-Remaining"])


@pytest.fixture(autouse=True)
def available() -> None:
    """Resets the gauge, which may hold a value from the server of an earlier test."""
    AWAY.set(0)


class TestBuckets:
    async def test_the_plan_takes_precedence_over_the_setting(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, projector=False) as server:
            await room()
            await server.workspace(requests_per_minute=2)
            answers = [await server.client().get(PATH) for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 200, 429]
        assert [limit_of(answer) for answer in answers] == [(2, 1), (2, 0), (2, 0)]

    async def test_keys_and_addresses_have_separate_buckets(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(
            database_url, repository, projector=False, key_rate_limit=2, ip_rate_limit=6
        ) as server:
            await room()
            await server.workspace()
            await server.key("another", "acme")
            bad = await server.client("nobody's").get(PATH)
            assert (bad.status, limit_of(bad)) == (401, (6, 5))
            first = [await server.client().get(PATH) for _ in range(3)]
            assert [(a.status, limit_of(a)) for a in first] == [
                (200, (2, 1)),
                (200, (2, 0)),
                (429, (2, 0)),
            ]
            other = await server.client("another").get(PATH)
            assert (other.status, limit_of(other)) == (200, (2, 1))
            bad = await server.client("nobody's").get(PATH)
            assert (bad.status, limit_of(bad)) == (401, (6, 0))
            last = await server.client("another").get(PATH)
            assert (last.status, limit_of(last)) == (429, (6, 0)), "the address's comes first"
            found = await metrics(server)
            assert found["contentlog_rate_limit_refused_total", "key"] >= 1
            assert found["contentlog_rate_limit_refused_total", "address"] >= 1


async def metrics(server: Server) -> dict[tuple[str, str | None], float]:
    text = (await server.operator.get("/metrics")).text
    return {
        (sample.name, sample.labels.get("bucket")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("contentlog_rate")
    }


async def counted(server: Server) -> bool:
    return (await metrics(server))["contentlog_rate_limit_counter_away", None] == 0


class TestResponses:
    async def test_a_refusal_has_the_seconds_to_wait(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, projector=False, ip_rate_limit=1) as server:
            await room()
            await server.client(None).get(PATH)
            before = time.time()
            answer = await server.client(None).get(PATH)
            after = time.time()
        wait, reset = (int(answer.headers[name]) for name in ("Retry-After", "X-RateLimit-Reset"))
        assert 1 <= wait <= 60
        # Whole seconds, rounded up; our clock may differ slightly from the counter's.
        assert reset - after - 1 <= wait <= reset - before + 2
        assert answer.status == 429
        assert answer.body == {"error": f"Rate limit exceeded, please retry in {wait} seconds"}
        assert answer.headers["X-Request-Id"]

    async def test_every_response_shows_a_bucket(
        self, database_url: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        limits = {"key_rate_limit": 50, "ip_rate_limit": 60, "max_body_bytes": 2048}
        async with serving(database_url, repository, projector=False, **limits) as server:
            await room()
            acme = await server.workspace()
            await acme.content_type()
            key, nobody = server.client(), server.client(None)
            post = {"contentTypeSlug": "posts", "title": "A"}
            address = [
                (404, await nobody.get("/nowhere")),
                (405, await nobody.ask("DELETE", PATH)),
                (401, await nobody.get(PATH)),
                (200, await nobody.get("/healthz")),
                (200, await nobody.get("/readyz")),
                (401, await nobody.get("/metrics")),
                (204, await nobody.ask("OPTIONS", f"{PATH}/posts")),
                (400, await malformed_http(server)),
            ]
            for status, answer in address:
                assert (answer.status, limit_of(answer)[0]) == (status, 60), answer
            await server.key("may only look", "acme", ("content.view",))
            one_way = server.client("may only look")
            tag = (await key.get(PATH)).headers["ETag"]
            # The key is known by now, so the router's responses describe its limit too.
            of_key = [
                (404, await key.get("/nowhere")),
                (405, await key.ask("DELETE", PATH)),
                (204, await key.ask("OPTIONS", f"{PATH}/posts")),
                (304, await key.get(PATH, headers={"If-None-Match": tag})),
                (403, await one_way.post(post)),
                (200, await key.get(PATH)),
                (200, await key.ask("HEAD", PATH)),
                (400, await key.get(f"{PATH}?locale=xx")),
                (400, await key.post(b"{")),
                (402, await key.get(f"{PATH}?environment=staging")),
                (404, await key.get(f"{PATH}/nothing")),
                (413, await key.post(b'"' + b"x" * 4096 + b'"')),
            ]

            async def fails(*_: object, **__: object) -> None:
                raise RuntimeError("out of cheese")

            server.forget()
            monkeypatch.setattr("api.rest.content.paging.list_across_types", fails)
            of_key.append((500, await key.get(PATH)))
            for status, answer in of_key:
                assert (answer.status, limit_of(answer)[0]) == (status, 50), answer

    async def test_uncounted_responses_show_the_bucket_of_the_address(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, projector=False, ip_rate_limit=3) as server:
            await room()
            client = server.client(None)
            assert limit_of(await client.get("/healthz")) == (3, 3)
            await client.get(PATH)
            for path in ("/healthz", "/readyz", "/nowhere", "/healthz"):
                assert limit_of(await client.get(path)) == (3, 2)


class TestProxies:
    async def test_a_trusted_proxy_is_believed(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(
            database_url,
            repository,
            projector=False,
            ip_rate_limit=5,
            trusted_proxies="127.0.0.0/8, 10.0.0.0/8",
        ) as server:
            await room()

            async def remaining(*forwarded: str) -> int:
                headers = [("X-Forwarded-For", text) for text in forwarded]
                async with server.session.get(PATH, headers=headers) as response:
                    return int(response.headers["X-RateLimit-Remaining"])

            assert await remaining("203.0.113.9") == 4
            assert await remaining("203.0.113.10") == 4
            assert await remaining("1.2.3.4, 203.0.113.9, 10.0.0.1") == 3
            assert await remaining("1.2.3.4", "203.0.113.9", "10.0.0.1") == 2
            assert await remaining() == 4

    async def test_other_clients_are_not_believed(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(
            database_url, repository, projector=False, ip_rate_limit=5, trusted_proxies="10.0.0.1"
        ) as server:
            await room()
            for remaining in (4, 3, 2):
                forged = {"X-Forwarded-For": f"203.0.113.{remaining}"}
                answer = await server.client(None).get(PATH, headers=forged)
                assert limit_of(answer) == (5, remaining)


class TestCounterAway:
    async def test_requests_pass_while_the_counter_is_unavailable(
        self, database_url: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with (
            serving(database_url, repository, projector=False, ip_rate_limit=3) as server,
            connected(database_url) as connection,
        ):
            client = server.client(None)
            await connection.execute("ALTER TABLE write_side.rate_limit RENAME TO away")
            with monkeypatch.context() as patch:
                # No retry: it would succeed, because it needs no table.
                patch.setattr("api.rate_limits.leases.RETRY", 3600.0)
                answers = [await client.get(PATH) for _ in range(10)]
                found = await metrics(server)
            assert {a.status for a in answers} == {401}
            assert all(limit_of(a)[0] == 3 for a in answers)
            assert found["contentlog_rate_limit_counter_away", None] == 1
            assert found["contentlog_rate_limit_uncounted_total", None] >= 10
            await connection.execute("ALTER TABLE write_side.away RENAME TO rate_limit")

            await until(lambda: counted(server))
            await room()
            answers = [await client.get(PATH) for _ in range(4)]
            assert [a.status for a in answers] == [401, 401, 401, 429]

    async def test_a_lost_connection_is_replaced_unnoticed(
        self, database_url: str, repository: Repository
    ) -> None:
        async with (
            serving(database_url, repository, projector=False, ip_rate_limit=9) as server,
            connected(database_url) as connection,
        ):
            await room()
            client = server.client(None)
            assert limit_of(await client.get(PATH)) == (9, 8)
            ended = await connection.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE application_name = $1 AND datname = current_database()",
                APPLICATION_NAME,
            )
            assert ended == 1
            assert limit_of(await client.get(PATH)) == (9, 7)
            assert (await metrics(server))["contentlog_rate_limit_counter_away", None] == 0
