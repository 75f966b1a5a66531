"""Rate limits over HTTP: what is not counted, and that an unavailable counter refuses nothing."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.rate_limits.leases import AWAY
from tests.integration.api.server import Answer, Server, serving
from tests.integration.live_projector import connected, until
from write_side.repository import Repository
from write_side.store.rate_limits import APPLICATION_NAME

pytestmark = pytest.mark.usefixtures("long_window")

PATH = "/v1/content"
REFUSED = ("contentlog_rate_limit_refused_total", "address")


def limit_of(answer: Answer) -> tuple[int, int]:
    """The limit and the remaining requests."""
    return int(answer.headers["X-RateLimit-Limit"]), int(answer.headers["X-RateLimit-Remaining"])


@pytest.fixture(autouse=True)
def available() -> None:
    """Resets the gauge, which may hold a value from the server of an earlier test."""
    AWAY.set(0)


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


class TestBuckets:
    async def test_each_key_has_a_bucket_of_its_own(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, projector=False, key_rate_limit=2) as server:
            await server.workspace()
            await server.key("another", "acme")
            answers = [await server.client().get(PATH) for _ in range(3)]
            answers.append(await server.client("another").get(PATH))
        assert [answer.status for answer in answers] == [200, 200, 429, 200]
        assert [limit_of(answer) for answer in answers] == [(2, 1), (2, 0), (2, 0), (2, 1)]

    async def test_uncounted_responses_show_the_bucket_of_the_address(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, projector=False, ip_rate_limit=3) as server:
            client = server.client(None)
            assert limit_of(await client.get("/healthz")) == (3, 3)
            await client.get(PATH)
            for path in ("/healthz", "/readyz", "/nowhere", "/healthz"):
                assert limit_of(await client.get(path)) == (3, 2)


async def test_every_x_forwarded_for_line_is_read(
    database_url: str, repository: Repository
) -> None:
    proxies = {"ip_rate_limit": 5, "trusted_proxies": "127.0.0.0/8, 10.0.0.0/8"}
    async with serving(database_url, repository, projector=False, **proxies) as server:

        async def remaining(*forwarded: str) -> int:
            headers = [("X-Forwarded-For", text) for text in forwarded]
            async with server.session.get(PATH, headers=headers) as response:
                return int(response.headers["X-RateLimit-Remaining"])

        assert await remaining("203.0.113.9") == 4
        assert await remaining("1.2.3.4", "203.0.113.9", "10.0.0.1") == 3
        assert await remaining() == 4


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
            answers = [await client.get(PATH) for _ in range(4)]
            assert [a.status for a in answers] == [401, 401, 401, 429]
            refused = (await metrics(server)).get(REFUSED, 0) - found.get(REFUSED, 0)
            assert refused == 1

    async def test_a_lost_connection_is_replaced_unnoticed(
        self, database_url: str, repository: Repository
    ) -> None:
        async with (
            serving(database_url, repository, projector=False, ip_rate_limit=9) as server,
            connected(database_url) as connection,
        ):
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
