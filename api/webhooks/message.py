"""Webhook messages, signed as in Standard Webhooks 1.0.0, and their source, the change feed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Raw, Struct

from api.changes.bodies import ChangeView, IncludedEntries
from api.rest.tokens import ChangeTokens
from api.rest.wire import encode, timestamp
from read_side.changes import ChangeSelection, changes_after
from read_side.pool import Pool
from write_side.domain.events import CHANGE_KINDS
from write_side.domain.identity import BASE_LANGUAGE, new_id
from write_side.domain.webhook import Webhook, secret_bytes

TEST = "webhook.test"
PAGE = 100
"""Changes that are read at a time, at most."""
CURRENT_BYTES = 4 * 1024 * 1024
"""The size of the entries on a page. If they are larger, the page has fewer changes, but at least
one."""


class Message(Struct, frozen=True):
    """``id`` is the same on every try; ``body`` is what is signed and sent. ``position``: of the
    change in the log, 0 for a test message."""

    id: str
    type: str
    body: bytes
    position: int = 0


class _Body(Struct, frozen=True):
    type: str
    timestamp: str
    data: Raw


def message_of(
    change_id: str, change_type: str, at: datetime, data: bytes, position: int = 0
) -> Message:
    """``data``: the change as the feed has it, in JSON."""
    body = encode(_Body(change_type, timestamp(at), Raw(data)))
    return Message(change_id, change_type, body, position)


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


class DeliverablePage(Struct, frozen=True):
    """Messages in the order of the log. The endpoint selects no other change up to ``position``."""

    messages: Sequence[Message]
    position: int


class FeedChanges(Struct, frozen=True):
    """Changes from the read model, where a change appears exactly when it can be read."""

    read_model: Pool
    tokens: ChangeTokens

    async def page(self, endpoint: Webhook, after: int, limit: int) -> DeliverablePage:
        """The next changes that the endpoint selects. Raises ReadModelUnavailable."""
        kinds = tuple(kind for kind in CHANGE_KINDS if kind in endpoint.events) or CHANGE_KINDS
        selection = ChangeSelection(tuple(dict.fromkeys(endpoint.types)), kinds)
        found = await changes_after(self.read_model, endpoint.scope, selection, after, limit)
        entries = None
        if endpoint.include_entry:
            entries = IncludedEntries(self.read_model, BASE_LANGUAGE, CURRENT_BYTES)
        view = ChangeView(self.tokens, endpoint.scope, selection, entries)
        records, current = await view.with_current(found.changes)
        shown = view.changes(records, view.previous(found), current)
        messages = [
            message_of(change.id, change.type, record.at, encode(change), record.position)
            for record, change in zip(records, shown, strict=True)
        ]
        return DeliverablePage(messages, messages[-1].position if messages else found.through)
