"""`contentlog api`, `projector` and `webhooks`: the processes that serve.

The API is one process, or several on one port. Its workers share the port, memory and their
metrics. They are forked from a parent that has imported everything (ADR 61).
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import gc
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from deploy.databases import Databases, check_event_store, open_databases, wrong_urls_named
from deploy.environment import load_settings
from deploy.failures import Failed, explained
from deploy.logs import configure_logs
from deploy.runner import WholeNumber, environment, read_model_option, warn_of_unknown_settings
from deploy.settings import PREFIX, Settings
from deploy.stopping import STOPPING, run_stoppable
from deploy.tracing import TraceSettings, exported_traces, trace_settings

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from write_side.process_state import ProcessState

log = logging.getLogger(__name__)

INTERVAL = 60.0
"""Seconds after which freed memory is returned to the system in the next quiet moment."""
LONGEST = 600.0
"""Seconds after which it is returned even if the process is busy. This stops the event loop for
some milliseconds. A thread would not help: its call holds the lock that every allocation takes."""
LOOK = 1.0
QUIET = 0.05
"""A moment of LOOK seconds is quiet if the process ran for less than this share of it."""
_trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None)

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

    from deploy.supervisor import Child, supervise
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
        _run(serve(api_settings), databases)


@click.command("projector", epilog="\b\nExample:\n  contentlog projector")
@read_model_option
def projector_command() -> None:
    """Keep the read model up to date with the log.

    Runs until SIGTERM or Ctrl-C. One projector is active for each read model; others stand by and
    take over.
    """
    with _configured("projector") as (settings, databases):
        from projector.entry_search import UNSEARCHABLE
        from projector.process import ProjectorSettings, run

        model = databases.model
        options = ProjectorSettings(
            databases.event_store_url, databases.read_model_url, model.workspaces, model.option
        )
        work = _probed(settings, "projector", partial(run, options), [UNSEARCHABLE])
        _run(work, databases)


@click.command("webhooks", epilog="\b\nExample:\n  contentlog webhooks")
@read_model_option
def webhooks_command() -> None:
    """Deliver changes to the webhooks of all workspaces.

    Runs until SIGTERM or Ctrl-C. One process is active; others stand by and take over. A change is
    delivered when it can be read in the read model.
    """
    with _configured("webhooks") as (settings, databases):
        from api.settings import WebhookSettings
        from api.webhooks.process import run_sessions

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
        _run(_probed(settings, "webhooks", partial(run_sessions, options)), databases)


def server_settings() -> Settings:
    """Loads the settings of a process, and configures its logs."""
    settings = load_settings(environment())
    configure_logs(settings)
    warn_of_unknown_settings(log.warning)
    return settings


@contextmanager
def _configured(process: str) -> Iterator[tuple[Settings, Databases]]:
    """The settings and databases of a process. Configures its logs, and exports its traces."""
    settings, traces = server_settings(), trace_settings(os.environ)
    if settings.probe_port is not None:
        check_address(settings.admin_host, settings.probe_port, "ADMIN_HOST", "PROBE_PORT")
    with (
        open_databases(settings) as databases,
        exported_traces(traces, f"contentlog-{process}"),
    ):
        yield settings, databases


async def _probed(
    settings: Settings,
    process: str,
    work: Callable[[ProcessState], Coroutine[Any, Any, None]],
    metrics: Iterable[Collector] = (),
) -> None:
    """Does the work until SIGTERM or SIGINT, and reports its state and ``metrics`` on the listener
    for operators."""
    from write_side.process_state import ProcessState

    state = ProcessState()
    async with AsyncExitStack() as stack:
        if settings.probe_port is not None:
            # aiohttp takes 12 MiB, which a projector without a listener does not need.
            from api.operations.process_listener import process_listener

            host, port = settings.admin_host, settings.probe_port
            await stack.enter_async_context(process_listener(host, port, process, state, metrics))
        working = asyncio.create_task(work(state))
        for number in STOPPING:
            asyncio.get_running_loop().add_signal_handler(number, working.cancel)
        with suppress(asyncio.CancelledError):
            await working


def check_address(host: str, port: int, host_name: str, port_name: str, options: str = "") -> None:
    """Raises Failed if the address is in use or does not belong to this machine. The names of the
    settings lack PREFIX. ``options``: of the command line, as the message names them."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in addresses:
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


def _run(work: Awaitable[None], databases: Databases) -> None:
    """Runs a process. Raises what ``wrong_urls_named`` raises."""

    async def run() -> None:
        async with wrong_urls_named(databases):
            await trimmed(work)

    with explained(databases.model.option):
        asyncio.run(run())


async def trimmed(work: Awaitable[None]) -> None:
    """Does the work, and returns freed memory to the system meanwhile. By itself, glibc keeps what
    is freed before the end of its heap: 4 MiB in each process."""
    if _trim is not None:
        _look(asyncio.get_running_loop().time(), 0.0)
    await work


def _look(returned: float, used: float) -> None:
    """``returned``: when memory was last returned. ``used``: processor time until the last look."""
    loop = asyncio.get_running_loop()
    is_quiet = time.process_time() - used < QUIET * LOOK
    if loop.time() - returned >= (INTERVAL if is_quiet else LONGEST):
        _trim(0)
        returned = loop.time()
    loop.call_later(LOOK, _look, returned, time.process_time())
