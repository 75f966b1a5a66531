"""`contentlog projector` and `webhooks`, and what they share with `contentlog api`."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import logging
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from deploy.databases import Databases, open_databases
from deploy.environment import load_settings
from deploy.failures import Failed
from deploy.logs import configure_logs
from deploy.runner import environment, read_model_option, warn_of_unknown_settings
from deploy.settings import PREFIX, Settings
from deploy.stopping import STOPPING
from deploy.tracing import exported_traces, trace_settings

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
_trim: Any = None
if sys.platform == "linux":
    _trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


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

        options = ProjectorSettings(
            databases.event_store_url, databases.read_model_url, databases.model.workspaces
        )
        work = _probed(settings, "projector", partial(run, options), [UNSEARCHABLE])
        asyncio.run(trimmed(work))


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
        asyncio.run(trimmed(_probed(settings, "webhooks", partial(run_sessions, options))))


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
