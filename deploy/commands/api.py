"""`contentlog api`"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from deploy.databases import Databases, databases
from deploy.logs import configure_logs
from deploy.ports import check_port
from deploy.settings import Settings, load_settings

if TYPE_CHECKING:
    from api.settings import ApiSettings


@click.command(
    short_help="The API processes.",
    epilog="\b\nExample:\n  contentlog api --host 0.0.0.0 --port 80 --workers 4",
)
@click.option("--host", help="The address to listen on (CONTENTLOG_HOST).")
@click.option("--port", type=click.IntRange(1, 65535), help="The port (CONTENTLOG_PORT).")
@click.option("--workers", type=click.IntRange(1, 256), help="Processes (CONTENTLOG_WORKERS).")
@click.option("--worker", type=int, hidden=True, help="Which one, of several on the same port.")
def command(host: str | None, port: int | None, workers: int | None, worker: int | None) -> None:
    """Serve the API until SIGTERM or Ctrl-C.

    With several workers one parent keeps as many processes running on the same port.
    """
    settings = load_settings(os.environ)
    settings = replace(
        settings,
        host=host or settings.host,
        port=port or settings.port,
        workers=workers or settings.workers,
    )
    configure_logs(settings)
    if worker is None:
        check_port(settings.host, settings.port)
    with databases(settings) as found:
        if settings.workers > 1:
            _run_workers(settings, found)
        else:
            _serve(settings, found, worker=worker)


def _run_workers(settings: Settings, found: Databases) -> None:
    from deploy.workers import run_workers

    run_workers(settings, found)


def _serve(settings: Settings, found: Databases, *, worker: int | None) -> None:
    from deploy.workers import count_as

    if worker is not None:
        count_as(worker)
    from api.server import serve

    reuse_port = worker is not None
    asyncio.run(serve(_api_settings(settings, found, reuse_port=reuse_port)))


def _api_settings(settings: Settings, found: Databases, *, reuse_port: bool) -> ApiSettings:
    from api.settings import ApiSettings
    from deploy.workers import metrics_folder

    return ApiSettings(
        event_store_url=found.event_store_url,
        read_model_url=found.read_model_url,
        host=settings.host,
        port=settings.port,
        reuse_port=reuse_port,
        max_body_bytes=settings.max_body_bytes,
        client_timeout=settings.client_timeout_ms / 1000,
        read_your_writes=settings.read_your_writes_ms / 1000,
        key_rate_limit=settings.key_rate_limit,
        ip_rate_limit=settings.ip_rate_limit,
        trusted_proxies=settings.trusted_proxies,
        metrics_folder=metrics_folder(),
    )
