"""Where requests are counted."""

from __future__ import annotations

from typing import Any

import pytest

from api.rate_limits.in_memory import MemoryCounter
from api.rate_limits.in_redis import RedisCounter
from api.rate_limits.limits import _counter
from api.rate_limits.postgres_counter import PostgresCounter
from api.settings import ApiSettings


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, PostgresCounter),
        ({"alone": True}, MemoryCounter),
        ({"redis_url": "redis://127.0.0.1:1/0"}, RedisCounter),
        ({"redis_url": "redis://127.0.0.1:1/0", "alone": True}, RedisCounter),
    ],
)
async def test_in_memory_only_where_nobody_else_counts(
    settings: dict[str, Any], kind: type
) -> None:
    url = "postgresql://127.0.0.1:1/none"
    counter = _counter(ApiSettings(event_store_url=url, read_model_url=url, **settings))
    assert type(counter) is kind
    await counter.close()
