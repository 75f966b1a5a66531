"""What the tests of conformance and of round trips can run on: ``deploy/dev test --engine NAME``.

An engine says how the run's cluster is started, what an API needs to run on a database of the
tests, and which tests are left out, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from tests.cluster import SETTINGS, use_cluster
from tests.databases import RUNTIME
from tests.default_server import default_server
from tests.pgbouncer import PgBouncer, pgbouncer
from write_side.postgres.pooler import PoolerUrl

ENGINE = "CONTENTLOG_TEST_ENGINE"


class UnknownEngine(ValueError):
    """No engine has this name; the text is one line that lists those there are."""


class Engine:
    """The PostgreSQL that the whole suite uses."""

    left_out: ClassVar[Mapping[str, str]] = {}
    """The reasons by test: its id, or how it begins, such as ``tests/conformance/test_x.py::``."""

    @contextmanager
    def cluster(self, folder: Path) -> Iterator[str]:
        """A superuser's URL on the cluster of this run, whose folder it is."""
        with use_cluster(folder) as url:
            yield url

    def url_for_requests(self, url: str) -> str:
        """For the pools of connections to a database of the tests."""
        return url

    def settings(self, url: str) -> dict[str, Any]:
        """What the settings of an API need on a database of the tests."""
        return {"event_store_url": url, "read_model_url": url}

    def reason_to_leave_out(self, test: str) -> str | None:
        return next((why for name, why in self.left_out.items() if test.startswith(name)), None)


class PgBouncerEngine(Engine):
    """An API reads and writes through PgBouncer in transaction mode."""

    def __init__(self) -> None:
        self._process: PgBouncer | None = None

    @contextmanager
    def cluster(self, folder: Path) -> Iterator[str]:  # noqa: ARG002
        """One for each worker: that of a whole run admits no user by a password."""
        with (
            default_server(settings=SETTINGS) as url,
            # So few connections that requests have to share them.
            pgbouncer(url, {RUNTIME: urlsplit(url).password or ""}, pool_size=3) as self._process,
        ):
            yield url

    def url_for_requests(self, url: str) -> str:
        assert self._process is not None
        return PoolerUrl(self._process.url(url))

    def settings(self, url: str) -> dict[str, Any]:
        pooled = self.url_for_requests(url)
        pools = {"event_store_pool_url": pooled, "read_model_pool_url": pooled}
        return {**super().settings(url), **pools}


ENGINES: Mapping[str, Engine] = {"plain": Engine(), "pgbouncer": PgBouncerEngine()}


def engine_named(name: str) -> Engine:
    """Raises UnknownEngine."""
    if name not in ENGINES:
        raise UnknownEngine(f"unknown engine '{name}'; expected one of: {', '.join(ENGINES)}")
    return ENGINES[name]


def engine() -> Engine:
    """The one that this run uses. Raises UnknownEngine."""
    return engine_named(os.environ.get(ENGINE) or "plain")
