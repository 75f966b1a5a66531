"""The messages of webhooks and their signatures, after Standard Webhooks 1.0.0."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Raw, Struct

from api.rest.wire import encode, timestamp
from write_side.domain.identity import new_id
from write_side.domain.webhook import secret_bytes

TEST = "webhook.test"


class Message(Struct, frozen=True):
    """``id`` is the same on every try; ``body`` is what is signed and sent."""

    id: str
    type: str
    body: bytes


class _Body(Struct, frozen=True):
    type: str
    timestamp: str
    data: Raw


def message_of(change_id: str, change_type: str, at: datetime, data: bytes) -> Message:
    """``data``: the change as the feed has it, in JSON."""
    return Message(change_id, change_type, encode(_Body(change_type, timestamp(at), Raw(data))))


def sample_message() -> Message:
    """A message that announces no change, to try out an endpoint."""
    return message_of(f"test_{new_id()}", TEST, datetime.now(UTC), b"{}")


def headers(message: Message, secrets: Sequence[str]) -> Mapping[str, str]:
    """The headers of an attempt that begins now, with a signature for each secret."""
    timestamp = str(int(time.time()))
    signed = f"{message.id}.{timestamp}.".encode() + message.body
    signatures = (_signature(secret, signed) for secret in secrets)
    return {
        "webhook-id": message.id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(signatures),
    }


def _signature(secret: str, signed: bytes) -> str:
    digest = hmac.new(secret_bytes(secret), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
