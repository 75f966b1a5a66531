"""An API process: its parts wired together, served until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from api.auth.access import Access
from api.context import SERVICE, Service
from api.dashboard import routes as dashboard
from api.dashboard.sessions import Sessions
from api.dashboard.visit import SESSIONS
from api.graphql import handler as graphql
from api.http.connections import Runner
from api.http.cors import add_preflights
from api.http.default_headers import add_promised_headers
from api.http.representation import represented
from api.http.request_log import observed
from api.openapi import documentation
from api.operations import health
from api.operations.status import STATUS, StatusCache
from api.rate_limits.limits import open_limits
from api.rest import content, content_types
from api.rest.positions import load_positions
from api.settings import ApiSettings
from read_side.checkpoint import CheckpointWatch
from read_side.pool import open_pool
from write_side.repository import Repository
from write_side.store.forgetting import forgetting
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

# In-flight requests may finish for this long after the socket is closed: less than what a
# supervisor waits before it kills.
GRACE = 5.0


@asynccontextmanager
async def open_service(settings: ApiSettings) -> AsyncIterator[Service]:
    """Connects to both databases and watches both; closes all of it again."""
    async with (
        open_recorder(settings.event_store_url) as recorder,
        open_pool(settings.read_model_url) as read_model,
        CheckpointWatch(settings.read_model_url) as checkpoint,
        forgetting(recorder),
    ):
        repository = Repository(recorder, EventMapper())
        positions = await load_positions(repository)
        async with (
            Access(settings.event_store_url, repository) as access,
            open_limits(settings) as limits,
        ):
            yield Service(settings, repository, read_model, access, checkpoint, limits, positions)


def application(service: Service) -> web.Application:
    app = web.Application(
        middlewares=[observed, represented], client_max_size=service.settings.max_body_bytes
    )
    app[SERVICE] = service
    app[STATUS] = StatusCache(service)
    app.on_response_prepare.append(add_promised_headers)
    app.add_routes(content.routes())
    app.add_routes(content_types.routes())
    app.add_routes(health.routes())
    app.add_routes(documentation.routes())
    app.add_routes(graphql.routes())
    app[SESSIONS] = Sessions(service.repository.recorder)
    app.add_routes(dashboard.routes())
    add_preflights(app)
    return app


async def serve(settings: ApiSettings) -> None:
    """Serve until SIGTERM or SIGINT, then let requests in flight finish."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with open_service(settings) as service:
        runner = Runner(application(service), patience=settings.client_timeout, grace=GRACE)
        await runner.setup()
        try:
            site = web.TCPSite(
                runner, settings.host, settings.port, reuse_port=settings.reuse_port or None
            )
            await site.start()
            await stop.wait()
        finally:
            await runner.cleanup()
