"""The limits of deliveries fit together."""

from __future__ import annotations

from api.webhooks.endpoint_task import FAILING, HEALTHY
from api.webhooks.sender import CONNECTIONS, LOOKUPS


def test_each_delivery_finds_a_thread_although_the_lookup_of_the_one_before_still_hangs() -> None:
    assert LOOKUPS >= 2 * (HEALTHY + FAILING)
    assert CONNECTIONS >= HEALTHY + FAILING
