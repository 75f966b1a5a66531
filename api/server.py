"""Assembles an API process and serves until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from aiohttp import web

from api.auth.access import Access
from api.changes import stream as changes
from api.changes.open_streams import OpenStreams
from api.context import SERVICE, Service
from api.dashboard.routes import add_dashboard
from api.graphql import handler as graphql
from api.http.cors import add_preflights
from api.http.default_headers import add_default_headers
from api.http.large_bodies import ByteBudget, LargeBodies
from api.http.listener import open_listener
from api.http.open_connections import raise_open_files
from api.http.representation import add_representation
from api.http.request_counts import COUNTS
from api.http.request_log import answer_errors
from api.imports import endpoints as imports
from api.imports.worker import ImportWorker
from api.openapi import routes as descriptions
from api.operations import health, metrics
from api.operations.health import STATUS, StatusCache
from api.operations.metrics import count_replica_read
from api.rate_limits.leases import Leases
from api.rate_limits.limits import Limits
from api.rest import content, lookups
from api.rest.list_query import PageCursors
from api.rest.repeated_read import REPEATED_READS, RepeatedReads
from api.rest.response_cache import ResponseCache
from api.rest.tokens import ChangeTokens, Positions
from api.settings import ApiSettings
from read_side.change_tail import ChangeTail
from read_side.checkpoint import CheckpointWatch
from read_side.high_water_mark import open_high_water_mark
from read_side.pool import open_pool
from read_side.replicas import open_replicas
from write_side.repository import Repository
from write_side.store.access import token_key
from write_side.store.mapper import EventMapper
from write_side.store.rate_limits import Counter
from write_side.store.recorder import open_recorder
from write_side.store.retention import retention

COLLECT_AFTER = (700, 10, 2)
"""Thresholds: new objects, and collections of the young and of the middle generation."""
BODIES = 8
"""Bodies of the largest size that requests may hold in memory; one workspace may hold half."""
FIRST_READ = 2.0
"""Seconds to wait for the checkpoint at the start; without a read model, the process starts too."""
OPERATORS = 64
"""Connections of the listener for operators, in addition to those of the API."""
# Seconds that requests in progress have to finish; supervisors kill a process later than that.
GRACE = 5.0


@asynccontextmanager
async def open_service(settings: ApiSettings) -> AsyncIterator[Service]:
    """Connects to both databases; closes the connections at the end."""
    async with AsyncExitStack() as opened:
        enter = opened.enter_async_context
        recorder = await enter(open_recorder(settings.pooled_event_store))
        # Fails if the database is not set up, before the watch reports that it has no read model.
        secret = await token_key(recorder.fetch)
        mark = opened.enter_context(open_high_water_mark(settings.read_model_url))
        read_model = await enter(open_pool(settings.pooled_read_model, mark.raise_to))
        checkpoint = await enter(CheckpointWatch(settings.read_model_url, mark))
        replicas = await enter(
            open_replicas(settings.read_replica_urls, checkpoint.freshness, count_replica_read)
        )
        tail = await enter(ChangeTail(read_model, checkpoint))
        await enter(retention(recorder))
        repository = Repository(recorder, EventMapper())
        # Before it, requests of workspaces that the read model does not hold would be admitted.
        await checkpoint.first_read(FIRST_READ)
        access = await enter(Access(settings.event_store_url, repository, holds=checkpoint.holds))
        leases = await enter(Leases(Counter(settings.pooled_event_store)))
        limits = Limits(leases, settings)
        worker = ImportWorker(repository, limits.charge_cost)
        await enter(worker.running())
        yield Service(
            settings,
            repository,
            read_model,
            access,
            checkpoint,
            limits,
            Positions(secret),
            ChangeTokens(secret),
            OpenStreams(tail, settings),
            PageCursors(secret),
            ByteBudget(BODIES * settings.max_body_bytes),
            LargeBodies(settings.response_file_bytes),
            worker,
            ResponseCache(checkpoint.freshness, settings.cache_bytes),
            replicas,
        )


def application(service: Service) -> web.Application:
    app = web.Application(
        middlewares=[answer_errors, add_representation],
        client_max_size=service.settings.max_body_bytes,
    )
    app[SERVICE] = service
    app[STATUS] = StatusCache(service)
    app[REPEATED_READS] = repeated = RepeatedReads(service)
    app.on_response_prepare.append(add_default_headers)
    app.on_response_prepare.append(repeated.remember)
    for part in (content, lookups, changes, imports, health, metrics, descriptions, graphql):
        app.add_routes(part.routes())
    add_dashboard(app)
    add_preflights(app)
    app.on_shutdown.append(_end_streams)
    return app


async def _end_streams(app: web.Application) -> None:
    app[SERVICE].streams.close()


def operator_application(service: Service) -> web.Application:
    """The endpoints for operators and monitoring, without a key."""
    app = web.Application(middlewares=[answer_errors])
    app[SERVICE] = service
    app[STATUS] = StatusCache(service)
    app.on_response_prepare.append(add_default_headers)
    app.add_routes(
        [
            web.get("/healthz", health.healthz),
            web.get("/readyz", health.detailed_readyz),
            web.get("/metrics", metrics.all_metrics),
        ]
    )
    return app


async def serve(settings: ApiSettings) -> None:
    """Serves until SIGTERM or SIGINT; then lets requests in progress finish."""
    raise_open_files()
    stop = asyncio.Event()
    starting = asyncio.current_task()
    assert starting is not None
    async with AsyncExitStack() as opened:
        # A database that does not respond would delay the end by up to a minute.
        _on_stop(starting.cancel)
        try:
            service = await opened.enter_async_context(open_service(settings))
        except asyncio.CancelledError:
            if starting.cancelling():
                return
            raise
        _on_stop(stop.set)
        await _listen(service, stop)
    COUNTS.flush()


async def _listen(service: Service, stop: asyncio.Event) -> None:
    settings = service.settings
    public = _listener(settings, application(service), settings.host, settings.port)
    operators = _listener(
        settings,
        operator_application(service),
        settings.admin_host,
        settings.admin_port,
        OPERATORS,
    )
    async with closed_together(public, operators):
        freeze_objects()
        await stop.wait()


def _on_stop(act: Callable[[], object]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, act)


@asynccontextmanager
async def closed_together(*parts: AbstractAsyncContextManager[None]) -> AsyncIterator[None]:
    """Opens one after another and closes all at once: each may take GRACE."""
    stacks = [AsyncExitStack() for _ in parts]
    try:
        for stack, part in zip(stacks, parts, strict=True):
            await stack.enter_async_context(part)
        yield
    finally:
        await asyncio.gather(*(stack.aclose() for stack in stacks))


def freeze_objects() -> None:
    """Keeps garbage collections short, because they block the event loop.

    They skip all objects that exist now: modules, routes and the GraphQL schema, which take 60 ms
    to visit. A full collection runs after fewer objects than by default, because GraphQL documents
    are cyclic, and collecting many of them takes as long.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


@asynccontextmanager
async def _listener(
    settings: ApiSettings,
    app: web.Application,
    host: str,
    port: int | None,
    connections: int | None = None,
) -> AsyncIterator[None]:
    """Serves the application at the address; does nothing without a port."""
    if port is None:
        yield
        return
    async with open_listener(
        app, patience=settings.client_timeout, grace=GRACE, connections=connections
    ) as listener:
        await listener.listen(host, port, reuse_port=settings.reuse_port)
        yield
