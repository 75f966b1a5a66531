"""`contentlog api`, `projector` and `webhooks`: the processes that run until they are stopped.

The workers of one `contentlog api` share a port, memory and their metrics. They are forked from a
parent that has imported everything (ADR 61). prometheus_client keeps the counts of each worker in
files of a folder, whose name it reads from the environment when it is imported. The files are named
by the worker's number, not by its process id, so that its successor continues its counts.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import socket
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from deploy.databases import STOPPING, Databases, open_databases
from deploy.environment import load_settings
from deploy.failures import Failed
from deploy.heap import trimmed
from deploy.logs import configure_logs
from deploy.metrics_folder import metrics_folder
from deploy.runner import WholeNumber, read_model_option, warn_of_unknown_settings
from deploy.settings import PREFIX, Settings
from deploy.supervisor import Child, supervise
from deploy.tracing import TraceSettings, exported_traces, trace_settings

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from write_side.process_state import ProcessState

log = logging.getLogger(__name__)

METRICS = "PROMETHEUS_MULTIPROC_DIR"

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
    settings = at_address(load_settings(os.environ), host, port)
    settings = replace(settings, workers=workers or settings.workers)
    traces = trace_settings(os.environ)
    configure_logs(settings)
    warn_of_unknown_settings(log.warning)
    check_port(settings)
    with open_databases(settings) as databases:
        if settings.workers > 1:
            _run_workers(settings, traces, databases)
        else:
            _serve(settings, traces, databases)


def at_address(settings: Settings, host: str | None, port: int | None) -> Settings:
    """The settings with the options of the command line."""
    return replace(settings, host=host or settings.host, port=port or settings.port)


def check_port(settings: Settings) -> None:
    """Raises Failed if an address is in use or does not belong to this machine."""
    _check_address(settings.host, settings.port, "HOST", "PORT", "--host and --port, or ")
    if settings.admin_port == settings.port:
        raise Failed(
            f"port {settings.port} is the API's: choose another with CONTENTLOG_ADMIN_PORT"
        )
    if settings.admin_port is not None:
        _check_address(settings.admin_host, settings.admin_port, "ADMIN_HOST", "ADMIN_PORT")


def _check_probe_port(settings: Settings) -> None:
    """Raises Failed."""
    if settings.probe_port is not None:
        _check_address(settings.admin_host, settings.probe_port, "ADMIN_HOST", "PROBE_PORT")


def _check_address(host: str, port: int, host_name: str, port_name: str, options: str = "") -> None:
    """The names of the settings, without their prefix. ``options``: those of the command line."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            option = "--port or " if options else ""
            reason = (
                f"port {port} is already in use: choose another with {option}{PREFIX}{port_name}"
            )
        else:
            reason = (
                f"cannot listen on '{host}:{port}' ({error.strerror}): "
                f"check {options}{PREFIX}{host_name} and {PREFIX}{port_name}"
            )
        raise Failed(reason) from None


def _run_workers(settings: Settings, traces: TraceSettings | None, databases: Databases) -> None:
    number = 0  # of the worker that this process is

    def serve(own_number: int) -> None:
        nonlocal number
        number = own_number
        _serve(settings, traces, databases)

    def ended(worker: Child) -> None:
        mark_process_dead(workers.index(worker) + 1)  # type: ignore[no-untyped-call]

    workers = [Child(f"api worker {n}", partial(serve, n)) for n in range(1, settings.workers + 1)]
    with metrics_folder() as folder:
        os.environ[METRICS] = folder
        from prometheus_client import values
        from prometheus_client.multiprocess import mark_process_dead

        # Before any module with metrics is imported.
        values.ValueClass = values.MultiProcessValue(lambda: number)  # type: ignore[no-untyped-call]
        _import_shared()
        asyncio.run(supervise(workers, ended=ended))


def _import_shared() -> None:
    """Imports what the workers share. The garbage collector of a worker would write to all of it,
    and new objects to the pages of collected ones."""
    gc.disable()
    import_module("api.server")
    gc.freeze()
    gc.enable()


def _serve(settings: Settings, traces: TraceSettings | None, databases: Databases) -> None:
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
        metrics_folder=os.environ.get(METRICS),
    )
    with exported_traces(traces, "contentlog-api"):
        asyncio.run(trimmed(serve(api_settings)))


@click.command("projector", epilog="\b\nExample:\n  contentlog projector")
@read_model_option
def projector_command() -> None:
    """Keep the read model up to date with the log.

    Runs until SIGTERM or Ctrl-C. One projector is active for each read model; others stand by and
    take over.
    """
    settings, traces = load_settings(os.environ), trace_settings(os.environ)
    configure_logs(settings)
    from projector.entry_search import UNSEARCHABLE
    from projector.process import ProjectorSettings
    from projector.process import run as project

    warn_of_unknown_settings(log.warning)
    _check_probe_port(settings)
    with open_databases(settings) as databases, exported_traces(traces, "contentlog-projector"):
        options = ProjectorSettings(
            databases.event_store_url, databases.read_model_url, databases.model.workspaces
        )
        work = _probed(settings, "projector", lambda state: project(options, state), [UNSEARCHABLE])
        asyncio.run(trimmed(work))


@click.command("webhooks", epilog="\b\nExample:\n  contentlog webhooks")
@read_model_option
def webhooks_command() -> None:
    """Deliver changes to the webhooks of all workspaces.

    Runs until SIGTERM or Ctrl-C. One process is active; others stand by and take over. A change is
    delivered when it can be read in the read model.
    """
    from api.settings import WebhookSettings
    from api.webhooks.process import run_sessions as deliver

    settings, traces = load_settings(os.environ), trace_settings(os.environ)
    configure_logs(settings)
    warn_of_unknown_settings(log.warning)
    _check_probe_port(settings)
    with open_databases(settings) as databases, exported_traces(traces, "contentlog-webhooks"):
        if databases.model.workspaces is not None:
            raise Failed(
                f"the read model '{databases.model.name}' holds only some workspaces, but webhooks "
                "of all are delivered: choose a read model that holds all"
            )
        options = WebhookSettings(
            databases.event_store_url,
            databases.read_model_url,
            databases.event_store_pool_url,
            databases.model.pool_url,
            networks=settings.networks,
        )
        work = _probed(settings, "webhooks", lambda state: deliver(options, state))
        asyncio.run(trimmed(work))


async def _probed(
    settings: Settings,
    process: str,
    work: Callable[[ProcessState], Coroutine[Any, Any, None]],
    metrics: Iterable[Collector] = (),
) -> None:
    """Runs the work, and reports its state and ``metrics`` on the listener for operators."""
    from write_side.process_state import ProcessState

    state = ProcessState()
    if settings.probe_port is None:
        await _until_stopped(work(state))
        return
    # aiohttp takes 12 MiB, which a projector without a listener does not need.
    from api.operations.process_listener import process_listener

    async with process_listener(settings.admin_host, settings.probe_port, process, state, metrics):
        await _until_stopped(work(state))


async def _until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """Does the work until SIGTERM or SIGINT."""
    working = asyncio.create_task(work)
    for number in STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, working.cancel)
    with suppress(asyncio.CancelledError):
        await working
