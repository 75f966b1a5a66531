"""Each finding of `contentlog doctor` about webhooks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from api.webhooks.operations import EndpointStatus, WebhooksStatus
from deploy.doctor.installation import check_webhooks
from deploy.doctor.server import Finding
from write_side.domain.webhook import Webhook
from write_side.store.webhook_cursors import Totals

KEY = ("acme", "search")


def status(
    *, active: bool = True, off: str | None = None, failing: bool = False, waiting: float = 0.0
) -> WebhooksStatus:
    endpoint = Webhook(
        workspace="acme",
        name="search",
        created=1,
        changed_at=datetime(2026, 1, 31, tzinfo=UTC),
        url="https://search.example.com/?token=hidden",
        environment="production",
        types=(),
        events=(),
        include_entry=False,
        off=off,
    )
    return WebhooksStatus(Totals(1, 0, active), [EndpointStatus(endpoint, failing, waiting)])


def faults(found: WebhooksStatus, unsigned: tuple[tuple[str, str], ...] = ()) -> list[Finding]:
    return [one for one in check_webhooks(found, unsigned) if one.level != "ok"]


@pytest.mark.parametrize(
    ("found", "level", "text", "fix"),
    [
        (
            status(active=False),
            "problem",
            "no process delivers; 1 endpoint is waiting",
            "contentlog webhooks",
        ),
        (
            status(off="the endpoint answered 410 Gone", active=False),
            "warning",
            "switched off: the endpoint answered 410 Gone",
            "contentlog webhook enable search --workspace acme",
        ),
        (
            status(waiting=3_600, failing=True),
            "warning",
            "60 minutes behind: deliveries fail",
            "contentlog webhook deliveries search --workspace acme",
        ),
        (
            status(waiting=600),
            "warning",
            "10 minutes behind; deliveries succeed",
            "contentlog webhook deliveries search --workspace acme",
        ),
    ],
)
def test_each_fault_is_found_alone_with_its_fix(
    found: WebhooksStatus, level: str, text: str, fix: str
) -> None:
    [fault] = faults(found)
    assert (fault.level, fault.subject, fault.fix) == (level, "webhooks", fix)
    assert text in fault.text
    assert "hidden" not in fault.text, "a URL may have a secret"


def test_an_endpoint_without_a_secret_is_a_problem() -> None:
    [fault] = faults(status(), unsigned=(KEY,))
    assert (fault.level, "no secret" in fault.text) == ("problem", True)
    assert fault.fix == "contentlog webhook rotate search --workspace acme"


def test_an_endpoint_that_gets_its_changes_has_no_faults() -> None:
    assert faults(status(waiting=2.0, failing=True)) == []


def test_without_endpoints_no_process_is_needed() -> None:
    assert list(check_webhooks(WebhooksStatus(Totals(0, 0, active=False), []), ())) == []
