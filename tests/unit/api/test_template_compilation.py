"""Templates are compiled when the first page is opened."""

from __future__ import annotations

import asyncio
import threading

import pytest

from api.dashboard import templates


async def test_pages_that_are_opened_first_wait_for_all_templates_without_blocking_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = templates.ENVIRONMENT.overlay()
    monkeypatch.setattr(templates, "ENVIRONMENT", environment)
    threads = set()

    def get_template(name: str) -> object:
        threads.add(threading.current_thread())
        return type(environment).get_template(environment, name)

    monkeypatch.setattr(environment, "get_template", get_template)
    templates._compile.cache_clear()
    await asyncio.gather(templates.until_compiled(), templates.until_compiled())
    await templates.until_compiled()
    assert environment.cache is not None
    assert len(environment.cache) == len(environment.list_templates()) > 10
    assert threading.current_thread() not in threads
