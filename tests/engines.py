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

from tests.cluster import use_cluster

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

    def settings(self, url: str) -> dict[str, Any]:
        """What the settings of an API need on a database of the tests."""
        return {"event_store_url": url, "read_model_url": url}

    def reason_to_leave_out(self, test: str) -> str | None:
        return next((why for name, why in self.left_out.items() if test.startswith(name)), None)


ENGINES: Mapping[str, Engine] = {"plain": Engine()}


def engine_named(name: str) -> Engine:
    """Raises UnknownEngine."""
    if name not in ENGINES:
        raise UnknownEngine(f"unknown engine '{name}'; expected one of: {', '.join(ENGINES)}")
    return ENGINES[name]


def engine() -> Engine:
    """The one that this run uses. Raises UnknownEngine."""
    return engine_named(os.environ.get(ENGINE) or "plain")
