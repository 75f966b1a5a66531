"""Templates are compiled when the first page is requested."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from api.dashboard import templates


async def test_pages_that_are_opened_first_wait_for_all_templates_without_blocking_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = templates.ENVIRONMENT.overlay()
    monkeypatch.setattr(templates, "ENVIRONMENT", environment)
    compiled, threads = [], set()

    def compile_one(source: str, name: str, *more: Any) -> Any:
        compiled.append(name)
        threads.add(threading.current_thread())
        return type(environment).compile(environment, source, name, *more)

    monkeypatch.setattr(environment, "compile", compile_one)
    monkeypatch.setattr(templates, "_COMPILED", threading.Event())
    await asyncio.gather(templates.until_compiled(), templates.until_compiled())
    await templates.until_compiled()
    assert sorted(compiled) == environment.list_templates()
    assert len(compiled) > 10
    assert threading.current_thread() not in threads
