"""Templates are compiled before a page is opened."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from api.dashboard import templates


async def test_a_process_compiles_its_templates_after_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = templates.ENVIRONMENT.overlay()
    monkeypatch.setattr(templates, "ENVIRONMENT", environment)
    monkeypatch.setattr(templates, "COMPILE_AFTER", 0.0)
    names = environment.list_templates()
    async for _ in templates.compiling(web.Application()):
        [task] = [t for t in asyncio.all_tasks() if t.get_name() == "dashboard templates"]
        await task
    assert environment.cache is not None
    assert len(environment.cache) == len(names) > 10
