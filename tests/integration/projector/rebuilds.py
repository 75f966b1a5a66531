"""Rebuilds with the settings of the tests, and a read model as its readers see it."""

from __future__ import annotations

from typing import Any

from projector.rebuild import operations as module
from projector.rebuild.build import BuildSettings
from projector.rebuild.operations import RebuildResult
from projector.rebuild.operations import rollback as roll_back
from projector.rebuild.progress import Progress
from tests.integration.live_projector import connected

SCHEMAS = """
SELECT nspname FROM pg_namespace WHERE nspname LIKE 'read\\_model%' ORDER BY 1"""


def silent(_progress: Progress) -> None:
    pass


def build_settings(store_url: str, model_url: str | None = None, **more: Any) -> BuildSettings:
    return BuildSettings(event_store_url=store_url, read_model_url=model_url or store_url, **more)


async def rebuild(
    store_url: str, model_url: str | None = None, *, accept: bool = False, workers: int = 1
) -> RebuildResult:
    settings = build_settings(store_url, model_url, workers=workers)
    return await module.rebuild(settings, accept_differences=accept, report=silent)


async def rollback(store_url: str, model_url: str | None = None) -> int:
    return await roll_back(build_settings(store_url, model_url), silent)


async def schemas(model_url: str) -> list[str]:
    async with connected(model_url) as connection:
        return [row["nspname"] for row in await connection.fetch(SCHEMAS)]
