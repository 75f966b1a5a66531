"""For operators: request ids, logs, health, readiness and metrics."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.context import Service
from api.operations import health
from api.operations.health import ServiceStatus, StatusCache
from tests.integration.api.server import ACME, Client, Server, serving
from tests.integration.live_projector import connected, until
from tests.integration.projector.sample_log import ContentBuilder
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")

Logged = Callable[[Any], Callable[[], str]]

POST = {"contentTypeSlug": "posts", "title": "A"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
UNKNOWN_EVENT = """
WITH at AS (UPDATE write_side.head SET position = position + 1 RETURNING position)
INSERT INTO write_side.event SELECT position, 'comet/1', 1, 'comet.seen.v1', '{}', now() FROM at"""
FIGURES = {
    "head_position",
    "checkpoint_position",
    "lag_events",
    "lag_seconds",
    "projector_halted",
}
LAST = "SELECT state FROM write_side.event ORDER BY notification_id DESC LIMIT 1"


class TestRequestIds:
    async def test_a_well_formed_request_id_is_returned_and_logged(
        self, server: Server, client: Client, acme: ContentBuilder
    ) -> None:
        await acme.content_type()
        for request_id in ("a", "A-z_0.9", "x" * 128):
            post = {**POST, "slug": request_id}
            answer = await client.post(post, headers={"X-Request-Id": request_id})
            assert answer.headers["X-Request-Id"] == request_id
            [row] = await server.repository.recorder.fetch(LAST)
            state = msgspec.json.decode(row["state"])
            assert state["request_id"] == request_id
            assert (state["actor"]["kind"], state["actor"]["name"]) == ("key", "secret-of-acme")

    async def test_an_invalid_request_id_is_replaced(
        self, server: Server, client: Client, acme: ContentBuilder
    ) -> None:
        await acme.content_type()
        for n, request_id in enumerate([None, "", "x" * 129, "a b", "a\tb", "ä", "a,b", "<x>"]):
            headers = {} if request_id is None else {"X-Request-Id": request_id}
            answer = await client.post({**POST, "slug": str(n)}, headers=headers)
            made = answer.headers["X-Request-Id"]
            assert UUID.fullmatch(made)
            [row] = await server.repository.recorder.fetch(LAST)
            assert msgspec.json.decode(row["state"])["request_id"] == made

    async def test_every_answer_has_one(self, server: Server, client: Client) -> None:
        for answer in (
            await client.get("/v1/content"),
            await client.get("/nowhere"),
            await client.ask("DELETE", "/v1/content"),
            await server.client(None).get("/v1/content"),
            await client.get("/healthz"),
        ):
            assert answer.headers["X-Request-Id"], answer


class TestLogs:
    @pytest.mark.parametrize("log_format", ["json", "text"])
    async def test_logs_never_contain_a_secret(
        self,
        log_format: Any,
        logged: Logged,
        server: Server,
        client: Client,
        acme: ContentBuilder,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        read = logged(log_format)
        await acme.content_type()
        await client.post(POST)
        await server.client("a-wrong-secret").get("/v1/content")

        async def fails(*_: object) -> None:
            raise RuntimeError("no caller")

        monkeypatch.setattr("api.auth.access.Access.caller", fails)
        assert (await client.get("/v1/content")).status == 500
        text = read()
        assert "no caller" in text
        assert "a-wrong-secret" not in text
        assert "secret-of-acme" not in text

    async def test_each_request_is_a_json_line_with_its_id(
        self, logged: Logged, server: Server, client: Client, acme: ContentBuilder
    ) -> None:
        read = logged("json")
        await acme.content_type()
        answers = [
            await client.post(POST),
            await client.get("/v1/content/posts/a?locale=fr-FR"),
            await server.client(None).get("/v1/content"),
            await client.get("/nowhere"),
        ]
        lines = [msgspec.json.decode(line) for line in read().splitlines()]
        requests = [line for line in lines if line["event"] == "request"]
        assert [line["request_id"] for line in requests] == [
            answer.headers["X-Request-Id"] for answer in answers
        ]
        assert [(line["method"], line["path"], line["status"]) for line in requests] == [
            ("POST", "/v1/content", 200),
            ("GET", "/v1/content/posts/a", 200),
            ("GET", "/v1/content", 401),
            ("GET", "/nowhere", 404),
        ]
        assert all(line["milliseconds"] >= 0 and line["timestamp"] for line in requests)

    async def test_a_fault_is_logged_with_its_traceback_and_request_id(
        self, logged: Logged, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fails(*_: object, **__: object) -> None:
            raise RuntimeError("out of cheese")

        read = logged("json")
        monkeypatch.setattr("api.rest.content.paging.list_across_types", fails)
        answer = await client.get("/v1/content")
        lines = map(msgspec.json.decode, read().splitlines())
        [fault] = [line for line in lines if line["level"] == "error"]
        assert fault["request_id"] == answer.headers["X-Request-Id"]
        assert "RuntimeError: out of cheese" in fault["exception"]


class TestHealth:
    async def test_healthz_needs_no_key(self, server: Server) -> None:
        answer = await server.client(None).get("/healthz")
        assert (answer.status, answer.body) == (200, {"status": "ok"})

    @pytest.mark.asyncio(loop_scope="function")
    async def test_ready_with_the_figures(self, server: Server, acme: ContentBuilder) -> None:
        await acme.content_type()
        await server.caught_up()
        answer = await server.operator.get("/readyz")
        assert answer.status == 200
        assert answer.body == {
            "ready": True,
            "readModel": "default",
            "reason": None,
            "head": 3,
            "checkpoint": 3,
            "lag": {"events": 0, "seconds": 0.0},
            "replicas": None,
        }

    @pytest.mark.asyncio(loop_scope="function")
    async def test_not_ready_if_the_read_model_is_too_old(
        self, database_url: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(health, "READY_LAG", 0.2)
        async with serving(database_url, repository, projector=False) as server:
            assert (await server.operator.get("/readyz")).status == 200
            await server.workspace()

            async def not_ready() -> bool:
                return (await server.operator.get("/readyz")).status == 503

            await until(not_ready)
            body = (await server.operator.get("/readyz")).body
            assert (body["ready"], body["head"], body["checkpoint"]) == (False, 2, 0)
            assert body["lag"]["events"] == 2
            assert body["lag"]["seconds"] >= 0.2
            assert "too far behind" in body["reason"]

    async def test_not_ready_if_the_projector_has_halted(self, server: Server) -> None:
        async with connected(server.url) as connection:
            await connection.execute(UNKNOWN_EVENT)

        async def halted() -> bool:
            answer = await server.operator.get("/readyz")
            return answer.status == 503 and "has halted" in answer.text

        await until(halted)
        text = (await server.operator.get("/metrics")).text
        assert "contentlog_projector_halted 1.0" in text

    async def test_not_ready_if_a_database_is_unavailable(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(*_: object, **__: object) -> None:
            raise ConnectionRefusedError("10.0.0.7")

        monkeypatch.setattr(type(server.service.read_model), "acquire", away)
        answer = await server.operator.get("/readyz")
        assert answer.status == 503
        assert answer.body["ready"] is False
        assert "10.0.0.7" not in answer.text


class TestWhoSeesTheDetails:
    @pytest.mark.asyncio(loop_scope="function")
    async def test_in_public_readyz_shows_only_ready_or_not(
        self, database_url: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(health, "READY_LAG", 0.05)
        async with serving(database_url, repository, projector=False) as server:
            for secret in (None, "nobody's"):
                answer = await server.client(secret).get("/readyz")
                assert (answer.status, answer.body) == (200, {"ready": True})
            await server.workspace()

            async def not_ready() -> bool:
                return (await server.client(None).get("/readyz")).status == 503

            await until(not_ready)
            # A workspace key sees no more than an anonymous client.
            for secret in (None, ACME):
                assert (await server.client(secret).get("/readyz")).body == {"ready": False}

    @pytest.mark.asyncio(loop_scope="function")
    @pytest.mark.usefixtures("acme")
    async def test_a_key_with_service_view_sees_them(self, server: Server) -> None:
        await server.key("an operator's", "acme", ("service.view",))
        client = server.client("an operator's")
        assert (await client.get("/metrics")).status == 200

        async def the_same() -> bool:
            """True once neither the head nor the checkpoint moves between the two requests."""
            seen = (await client.get("/readyz")).body
            return "head" in seen and seen == (await server.operator.get("/readyz")).body

        await until(the_same)

    @pytest.mark.usefixtures("acme")
    async def test_metrics_need_a_key_in_public(self, server: Server) -> None:
        assert (await server.client(None).get("/metrics")).status == 401
        assert (await server.client("nobody's").get("/metrics")).status == 401
        answer = await server.client().get("/metrics")
        assert answer.status == 403
        assert "service.view" in answer.text

    @pytest.mark.usefixtures("long_window")
    @pytest.mark.asyncio(loop_scope="function")
    async def test_guessed_keys_count_against_the_address_but_valid_ones_do_not(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, projector=False, ip_rate_limit=3) as server:
            await server.workspace(permissions=("service.view",))
            for _ in range(5):
                assert (await server.client().get("/metrics")).status == 200
            guesses = [(await server.client("nobody's").get("/metrics")).status for _ in range(4)]
            assert guesses == [401, 401, 401, 429]
            assert (await server.client().get("/metrics")).status == 200

    async def test_the_listener_for_operators_has_nothing_else(self, server: Server) -> None:
        assert (await server.operator.get("/healthz")).status == 200
        for path in ("/v1/content", "/dashboard", "/graphql", "/docs"):
            answer = await server.operator.get(path)
            assert (answer.status, answer.body) == (404, {"error": "Not found"})


class TestMetrics:
    @pytest.mark.asyncio(loop_scope="function")
    async def test_they_are_prometheus_text_with_the_lag(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, projector=False) as server:
            await server.workspace()
            await server.client().get("/v1/content")
            answer = await server.operator.get("/metrics")
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        found = {
            (sample.name, sample.labels.get("route"), sample.labels.get("status")): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }
        assert found["contentlog_head_position", None, None] == 2
        assert found["contentlog_checkpoint_position", None, None] == 0
        assert found["contentlog_lag_events", None, None] == 2
        assert found["contentlog_lag_seconds", None, None] > 0
        assert found["contentlog_requests_total", "/v1/content", "200"] >= 1
        assert found["contentlog_request_seconds_count", "/v1/content", None] >= 1

    async def test_values_that_cannot_be_read_are_omitted(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Values of an earlier read are not repeated."""

        monkeypatch.setattr(health, "KEPT", 0)

        def away(*_: object, **__: object) -> None:
            raise ConnectionRefusedError

        async def shown() -> tuple[set[str], dict[str, float]]:
            text = (await server.operator.get("/metrics")).text
            families = list(text_string_to_metric_families(text))
            [up] = [one for one in families if one.name == "contentlog_database_up"]
            return (
                {one.name.removeprefix("contentlog_") for one in families} & FIGURES,
                {sample.labels["database"]: sample.value for sample in up.samples},
            )

        assert await shown() == (FIGURES, {"event_store": 1, "read_model": 1})
        with monkeypatch.context() as patch:
            patch.setattr(type(server.service.read_model), "acquire", away)
            assert await shown() == ({"head_position"}, {"event_store": 1, "read_model": 0})
        with monkeypatch.context() as patch:
            patch.setattr(type(server.service.repository.recorder), "fetch", away)
            of_the_model = {"checkpoint_position", "projector_halted"}
            assert await shown() == (of_the_model, {"event_store": 0, "read_model": 1})
        assert (await shown())[0] == FIGURES

    async def test_unknown_paths_and_methods_are_not_labels(self, server: Server) -> None:
        client = server.client(None)
        await client.get("/v1/content/some-type-nobody-has/some-slug")
        await client.get("/nowhere-at-all")
        await client.ask("BREW", "/v1/content")
        text = (await server.operator.get("/metrics")).text
        for word in ("some-type", "nowhere-at-all", "BREW"):
            assert word not in text


class TestVisibility:
    """Whether a POST waits until its entry can be read, and reports it."""

    @pytest.mark.asyncio(loop_scope="function")
    async def test_a_write_succeeds_after_the_time_limit_if_the_projector_is_down(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(
            database_url, repository, projector=False, read_your_writes=0.2
        ) as server:
            acme = await server.workspace()
            await acme.content_type()
            answer = await server.client().post(POST)
            assert answer.data["slug"] == "a"
            assert answer.headers["X-Content-Visible"] == "false"
            assert (await server.client().get("/v1/content/posts/a")).status == 404
            assert server.service.checkpoint._waiting == {}, "nobody waits any more"

    @pytest.mark.asyncio(loop_scope="function")
    async def test_a_write_does_not_wait_if_the_setting_is_0(
        self, database_url: str, repository: Repository
    ) -> None:
        async with serving(database_url, repository, projector=False, read_your_writes=0) as server:
            acme = await server.workspace()
            await acme.content_type()
            assert (await server.client().post(POST)).headers["X-Content-Visible"] == "false"

    @pytest.mark.asyncio(loop_scope="function")
    async def test_the_checkpoint_is_polled_if_notifications_fail(
        self, database_url: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Patch before the watch starts, because it passes the method to its connection then.
        monkeypatch.setattr("read_side.checkpoint.CheckpointWatch._on_notification", print)
        async with serving(database_url, repository) as server:
            acme = await server.workspace()
            await acme.content_type()
            answer = await server.client().post(POST)
            assert answer.headers["X-Content-Visible"] == "true"
            assert (await server.client().get("/v1/content/posts/a")).status == 200

    @pytest.mark.asyncio(loop_scope="function")
    async def test_the_watch_survives_its_connection(
        self, server: Server, client: Client, acme: ContentBuilder
    ) -> None:
        await acme.content_type()
        async with connected(server.url) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                "datname = current_database() AND pid <> pg_backend_pid()"
            )
        answer = await client.post(POST)
        assert (answer.status, answer.headers["X-Content-Visible"]) == (200, "true")

    @pytest.mark.asyncio(loop_scope="function")
    async def test_simultaneous_requests_share_one_database_query(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queries = 0
        service_status = health.service_status

        async def counted(service: Service) -> ServiceStatus:
            nonlocal queries
            queries += 1
            return await service_status(service)

        monkeypatch.setattr(health, "service_status", counted)
        monkeypatch.setattr(health, "KEPT", 60)
        cache = StatusCache(server.service)
        found = await asyncio.gather(*(cache.current() for _ in range(40)))
        assert all(status is found[0] for status in found)
        assert queries == 1
