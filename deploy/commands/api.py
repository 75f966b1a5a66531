"""`contentlog api`: one process, or several on one port.

The workers share a port, memory and their metrics. They are forked from a parent that has imported
everything (ADR 61).
"""

from __future__ import annotations

import asyncio
import gc
import os
from functools import partial
from importlib import import_module

import click
from msgspec.structs import replace

from deploy.commands.servers import check_address, server_settings, trimmed
from deploy.databases import Databases, check_event_store, open_databases
from deploy.failures import Failed
from deploy.runner import WholeNumber, read_model_option
from deploy.settings import Settings
from deploy.stopping import run_stoppable
from deploy.supervisor import Child, supervise
from deploy.tracing import TraceSettings, exported_traces, trace_settings

host_option = click.option("--host", help="The address to listen on (CONTENTLOG_HOST).")
port_option = click.option("--port", type=WholeNumber(1, 65535), help="The port (CONTENTLOG_PORT).")


@click.command("api", epilog="\b\nExample:\n  contentlog api --host 0.0.0.0 --port 80 --workers 4")
@host_option
@port_option
@read_model_option
@click.option("--workers", type=WholeNumber(1, 256), help="Processes (CONTENTLOG_WORKERS).")
def api_command(host: str | None, port: int | None, workers: int | None) -> None:
    """Serve the API until SIGTERM or Ctrl-C.

    With several workers, a parent process keeps them running on the same port.
    """
    settings = at_address(server_settings(), host, port)
    settings = replace(settings, workers=workers or settings.workers)
    traces = trace_settings(os.environ)
    check_port(settings)
    with open_databases(settings) as databases:
        # Otherwise each worker would fail and be restarted forever.
        run_stoppable(check_event_store(databases))
        if settings.workers > 1:
            _run_workers(settings, traces, databases)
        else:
            _serve(settings, traces, databases)


def at_address(settings: Settings, host: str | None, port: int | None) -> Settings:
    """The settings with the options of the command line."""
    return replace(settings, host=host or settings.host, port=port or settings.port)


def check_port(settings: Settings) -> None:
    """Raises Failed if an address is in use or does not belong to this machine."""
    check_address(settings.host, settings.port, "HOST", "PORT", "--host and --port, or ")
    if settings.admin_port == settings.port:
        raise Failed(
            f"port {settings.port} is the API's: choose another with CONTENTLOG_ADMIN_PORT"
        )
    if settings.admin_port is not None:
        check_address(settings.admin_host, settings.admin_port, "ADMIN_HOST", "ADMIN_PORT")


def _run_workers(settings: Settings, traces: TraceSettings | None, databases: Databases) -> None:
    from prometheus_client.multiprocess import mark_process_dead

    from deploy.worker_metrics import shared_metrics

    number = 0  # of the worker in this process
    with shared_metrics(lambda: number) as folder:

        def serve(own_number: int) -> None:
            nonlocal number
            number = own_number
            response_cache.BYTES.inc(0)  # opens all of the worker's metrics files, or fails
            _serve(settings, traces, databases, folder)

        def ended(worker: Child) -> None:
            mark_process_dead(workers.index(worker) + 1)  # type: ignore[no-untyped-call]

        numbers = range(1, settings.workers + 1)
        workers = [Child(f"api worker {n}", partial(serve, n)) for n in numbers]
        # A worker's garbage collector would write to all memory that the workers share, and new
        # objects would take the pages of collected ones.
        gc.disable()
        import_module("api.server")
        from api.rest import response_cache

        gc.freeze()
        gc.enable()
        asyncio.run(supervise(workers, ended=ended))


def _serve(
    settings: Settings,
    traces: TraceSettings | None,
    databases: Databases,
    metrics_folder: str | None = None,
) -> None:
    from api.server import serve
    from api.settings import ApiSettings

    api_settings = ApiSettings(
        event_store_url=databases.event_store_url,
        read_model_url=databases.read_model_url,
        event_store_pool_url=databases.event_store_pool_url,
        read_model_pool_url=databases.model.pool_url,
        read_model=databases.model.name,
        read_replica_urls=databases.model.replica_urls,
        host=settings.host,
        port=settings.port,
        admin_host=settings.admin_host,
        admin_port=settings.admin_port,
        reuse_port=settings.workers > 1,
        max_body_bytes=settings.max_body_bytes,
        client_timeout=settings.client_timeout_ms / 1000,
        read_your_writes=settings.read_your_writes_ms / 1000,
        key_rate_limit=settings.key_rate_limit,
        ip_rate_limit=settings.ip_rate_limit,
        cost_limit=settings.cost_limit,
        cache_bytes=settings.cache_bytes,
        response_file_bytes=settings.response_file_bytes,
        trusted_proxies=settings.trusted_proxies,
        webhook_networks=settings.networks,
        thumbnails=settings.thumbnails,
        changes_kept_days=settings.changes_kept_days,
        streams_per_key=settings.streams_per_key,
        streams_per_workspace=settings.streams_per_workspace,
        metrics_folder=metrics_folder,
    )
    with exported_traces(traces, "contentlog-api"):
        asyncio.run(trimmed(serve(api_settings)))
