"""``deploy/dev bench [NAME…]``: runs all benchmarks, or those named, and prints Markdown."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import closing
from importlib import import_module
from pathlib import Path

import structlog

from deploy.embedded.server import use
from tests.benchmarks.over_tcp import SETTINGS, over_tcp
from tests.benchmarks.report import heading
from tests.databases import Databases

BENCHMARKS = (
    "append",
    "update",
    "catch_up",
    "http",
    "fixed",
    "misses",
    "replicas",
    "poolers",
    "visible",
    "creates",
    "steady",
    "rebuild",
    "scale",
    "citus",
    "switch",
    "export",
    "imports",
    "browse",
    "walk",
    "queries",
    "fairness",
    "workspaces",
    "footprint",
    "memory",
    "changes",
    "webhooks",
    "traces",
)


def main(names: list[str]) -> None:
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    print(heading())
    with tempfile.TemporaryDirectory(prefix="cl-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with (
            use(Path(folder) / "data", settings=SETTINGS) as cluster,
            closing(Databases(asyncio.run(over_tcp(cluster)), Path(folder))) as databases,
        ):
            for name in names or BENCHMARKS:
                benchmark = import_module(f"tests.benchmarks.{name}")
                with databases.new() as url, databases.new(empty=True) as other:
                    print(asyncio.run(benchmark.measure(url, other)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
