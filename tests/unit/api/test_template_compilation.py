"""Templates are compiled when a page first needs them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from api.dashboard import templates


async def test_a_template_is_compiled_once_without_blocking_the_loop(
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
    for _ in range(2):
        await templates.render("sign_in.html", next="", ended="", error="")
    assert "sign_in.html" in compiled
    assert len(compiled) == len(set(compiled))
    assert threading.current_thread() not in threads
