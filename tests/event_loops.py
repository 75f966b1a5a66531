"""Which event loop a test runs in."""

from __future__ import annotations

import pytest


def loop_scope(item: pytest.Item) -> str:
    """Returns "function", or the scope in ``@pytest.mark.asyncio(loop_scope="module")``: tests that
    share an event loop can share a server."""
    marker = item.get_closest_marker("asyncio")
    scope: str = marker.kwargs.get("loop_scope", "function") if marker else "function"
    return scope
