"""The Standard Webhooks library verifies our webhook messages."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from api.webhooks.endpoint_task import FIRST, LONGEST, PATIENCE, retry_delay
from api.webhooks.message import headers, message_of, sample_message
from write_side.domain.webhook import new_webhook_secret

AT = datetime(2026, 1, 31, 9, 30, 0, 125000, tzinfo=UTC)
MESSAGE = message_of("42.abc", "entry.published", AT, '{"id":"42.abc","é":"☕"}'.encode())


def test_the_body_has_the_change_as_it_is() -> None:
    assert MESSAGE.body.decode() == (
        '{"type":"entry.published","timestamp":"2026-01-31T09:30:00.125Z",'
        '"data":{"id":"42.abc","é":"☕"}}'
    )


def test_the_library_verifies_a_message() -> None:
    secret = new_webhook_secret()
    assert Webhook(secret).verify(MESSAGE.body, dict(headers(MESSAGE, [secret])))


@pytest.mark.parametrize("which", [0, 1])
def test_both_secrets_sign_while_one_is_rotated(which: int) -> None:
    secrets = [new_webhook_secret(), new_webhook_secret()]
    sent = dict(headers(MESSAGE, secrets))
    assert len(sent["webhook-signature"].split()) == 2
    assert Webhook(secrets[which]).verify(MESSAGE.body, sent)


def test_a_signature_is_of_the_id_the_time_and_the_body() -> None:
    secret = new_webhook_secret()
    sent = dict(headers(MESSAGE, [secret]))
    later = {**sent, "webhook-timestamp": str(int(sent["webhook-timestamp"]) + 1)}
    for body, expected in (
        (MESSAGE.body + b" ", sent),
        (MESSAGE.body, {**sent, "webhook-id": "43.abc"}),
        (MESSAGE.body, later),
        (MESSAGE.body, dict(headers(MESSAGE, [new_webhook_secret()]))),
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body, expected)


def test_a_message_on_trial_announces_no_change() -> None:
    message = sample_message()
    body = json.loads(message.body)
    assert (body["type"], body["data"]) == ("webhook.test", {})
    assert message.id != sample_message().id


def test_retries_begin_within_five_seconds_and_double_up_to_an_hour() -> None:
    for attempt in range(1, 100):
        longest = min(FIRST * 2 ** (attempt - 1), LONGEST)
        assert all(longest / 2 <= retry_delay(attempt) <= longest for _ in range(20))
    assert FIRST < 5
    assert retry_delay(10**6) <= LONGEST
    assert PATIENCE == 3 * 24 * 3600
