"""A readiness check whose client disconnects leaves no unawaited coroutine."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest

from api.context import Service
from api.operations.health import service_status

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("steps", range(4))
async def test_a_status_cancelled_at_any_step_leaves_no_coroutine_unawaited(
    steps: int, recwarn: pytest.WarningsRecorder
) -> None:
    class Recorder:
        async def head(self) -> int:
            await asyncio.Event().wait()
            return 0

    service = cast(
        "Service",
        SimpleNamespace(repository=SimpleNamespace(recorder=Recorder()), read_model=_Pool()),
    )
    reading = asyncio.create_task(service_status(service))
    for _ in range(steps):
        await asyncio.sleep(0)
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading
    await asyncio.sleep(0)
    assert not recwarn.list


class _Pool:
    def acquire(self) -> Any:
        return asyncio.timeout(None)
