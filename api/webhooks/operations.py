"""Operations on an endpoint for the command line and the dashboard: show, test, replay, enable; and
the state of all endpoints for `/metrics` and `contentlog doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from api.rest.tokens import ChangeTokens
from api.webhooks.message import sample_message
from api.webhooks.sender import open_sender
from read_side.changes import position_before
from read_side.lookups import webhooks, webhooks_waiting
from read_side.pool import Pool
from write_side.commands import RotateWebhookSecret, SwitchWebhookOn
from write_side.dispatch import execute
from write_side.domain.identity import Actor, Scope
from write_side.domain.refusals import InvalidDefinition, UnknownWebhook
from write_side.domain.webhook import Network, Webhook, new_webhook_secret
from write_side.domain.workspace import expiry
from write_side.repository import Repository
from write_side.store.access import token_key
from write_side.store.webhook_cursors import (
    KEPT,
    Cursor,
    Cursors,
    Delivery,
    DeliveryOutcome,
    Outcome,
    Totals,
)

EndpointState = Literal["on", "failing", "off"]


class ListedWebhook(Struct, frozen=True, rename="camel"):
    """``off``: why it is switched off. ``after``: the time of the last change that was delivered,
    or that of the endpoint's creation. ``failing_since``: of the failures after it."""

    name: str
    url: str
    environment: str
    types: tuple[str, ...]
    events: tuple[str, ...]
    include_entry: bool
    off: str | None
    after: datetime | None
    deliveries: int
    failures: int
    failing_since: datetime | None
    last_error: str | None

    @property
    def state(self) -> EndpointState:
        return _state(self.off, self.failing_since is not None)


class EndpointStatus(Struct, frozen=True):
    """``waiting``: seconds since the oldest change to be delivered; 0 if there is none."""

    endpoint: Webhook
    is_failing: bool
    waiting: float

    @property
    def state(self) -> EndpointState:
        return _state(self.endpoint.off, self.is_failing)


class WebhooksStatus(Struct, frozen=True):
    totals: Totals
    endpoints: list[EndpointStatus]


def _state(off: str | None, is_failing: bool) -> EndpointState:
    if off is not None:
        return "off"
    return "failing" if is_failing else "on"


class Replay(Struct, frozen=True):
    """``at``: the time of the change after which deliveries continue, once the endpoint is on."""

    at: datetime | None
    is_off: bool


class WebhookOperations:
    """The operations of one workspace. They raise UnknownWebhook, UnknownWorkspace, and what the
    databases raise."""

    def __init__(self, repository: Repository, workspace: str) -> None:
        self._repository = repository
        self._workspace = workspace
        self._cursors = Cursors(repository.recorder.fetch)

    async def list(self) -> Sequence[ListedWebhook]:
        """Sorted by name."""
        await self._repository.workspace(self._workspace)
        by_name = (await self._repository.webhooks(self._workspace)).by_name
        return await self._listed([by_name[name] for name in sorted(by_name)])

    async def one(self, name: str) -> ListedWebhook:
        [listed] = await self._listed([await self._find(name)])
        return listed

    async def deliveries(
        self,
        name: str,
        *,
        outcome: DeliveryOutcome = "",
        since: datetime | None = None,
        limit: int = KEPT,
    ) -> Sequence[Delivery]:
        """The last ones, newest first."""
        await self._find(name)
        return await self._cursors.deliveries(
            self._workspace, name, outcome=outcome, since=since, limit=limit
        )

    async def test(self, name: str, networks: Sequence[Network]) -> Outcome:
        """Sends a message that announces no change, from this process, and records the outcome.
        Raises InvalidDefinition if the endpoint has no secret."""
        webhook = await self._find(name)
        secrets = await self._cursors.secrets(self._workspace, name)
        if not secrets:
            raise InvalidDefinition(
                f"Webhook {name!r} has no secret to sign with: create one with contentlog webhook "
                f"rotate {name} --workspace {self._workspace}"
            )
        async with open_sender(networks) as sender:
            outcome = await sender.send(webhook.url, sample_message(), secrets)
        await self._cursors.open([webhook])
        await self._cursors.record_test(self._workspace, name, outcome)
        return outcome

    async def replay(self, name: str, after: str, read_model: Pool) -> Replay:
        """Delivers again what came after a change (its id) or a time. Raises InvalidDefinition."""
        webhook = await self._find(name)
        position = await self._position(
            Scope(self._workspace, webhook.environment), after, read_model
        )
        await self._cursors.open([webhook])
        await self._cursors.move(self._workspace, name, position)
        return Replay(await self._cursors.time_at(position), webhook.off is not None)

    async def enable(self, name: str, actor: Actor, request_id: str | None = None) -> int:
        """The position of the event; 0 if the endpoint was on."""
        await self._find(name)
        command = SwitchWebhookOn(
            actor=actor, request_id=request_id, workspace=self._workspace, name=name
        )
        return (await execute(command, self._repository)).position

    async def rotate(self, name: str, actor: Actor, *, at_once: bool) -> str:
        """The new secret. ``at_once``: the old one no longer signs."""
        await self._find(name)
        secret = new_webhook_secret()
        command = RotateWebhookSecret(
            actor=actor, workspace=self._workspace, name=name, secret=secret, expires=at_once
        )
        await execute(command, self._repository)
        return secret

    async def continues_after(self, name: str) -> datetime | None:
        """The time of the last change that was delivered."""
        cursors = await self._cursors.open([await self._find(name)])
        cursor = cursors.get((self._workspace, name))
        return None if cursor is None else await self._cursors.time_at(cursor.position)

    async def _find(self, name: str) -> Webhook:
        await self._repository.workspace(self._workspace)
        webhook = (await self._repository.webhooks(self._workspace)).by_name.get(name)
        if webhook is None:
            raise UnknownWebhook(name)
        return webhook

    async def _position(self, scope: Scope, after: str, read_model: Pool) -> int:
        tokens = ChangeTokens(await token_key(self._repository.recorder.fetch))
        token = tokens.position(scope, after)
        if token is not None:
            return token.position
        try:
            time = expiry(after)
        except InvalidDefinition:
            raise InvalidDefinition(
                f"{after[:100]!r} is neither the id of a change in {scope.environment} nor a time "
                "such as 2027-01-31T09:30:00Z"
            ) from None
        if time > datetime.now(UTC):
            raise InvalidDefinition(f"{after[:100]!r} is in the future: use a time in the past")
        return await position_before(read_model, scope, time)

    async def _listed(self, endpoints: Sequence[Webhook]) -> Sequence[ListedWebhook]:
        cursors = await self._cursors.find(endpoint.key for endpoint in endpoints)
        never = Cursor(created=0, position=0)
        return [await self._with_cursor(one, cursors.get(one.key, never)) for one in endpoints]

    async def _with_cursor(self, webhook: Webhook, cursor: Cursor) -> ListedWebhook:
        failed: Sequence[Delivery] = []
        if cursor.failing_since is not None:
            failed = await self._cursors.deliveries(*webhook.key, outcome="failed", limit=1)
        return ListedWebhook(
            name=webhook.name,
            url=webhook.url,
            environment=webhook.environment,
            types=webhook.types,
            events=webhook.events,
            include_entry=webhook.include_entry,
            off=webhook.off,
            after=await self._cursors.time_at(cursor.position),
            deliveries=cursor.deliveries,
            failures=cursor.failures,
            failing_since=cursor.failing_since,
            last_error=failed[0].error if failed else None,
        )


async def read_webhooks_status(cursors: Cursors, read_model: Pool) -> WebhooksStatus:
    """Raises what the databases raise."""
    totals, endpoints = await cursors.totals(), await webhooks(read_model)
    found = await cursors.find(endpoint.key for endpoint in endpoints)
    # The cursor of an endpoint that was removed is not that of a new one with its name.
    own = {
        endpoint.key: found[endpoint.key]
        for endpoint in endpoints
        if endpoint.key in found and found[endpoint.key].created == endpoint.created
    }
    waiting = await webhooks_waiting(
        read_model, {name: cursor.position for name, cursor in own.items()}
    )
    return WebhooksStatus(
        totals,
        [
            EndpointStatus(
                endpoint,
                endpoint.key in own and own[endpoint.key].failing_since is not None,
                waiting.get(endpoint.key, 0.0),
            )
            for endpoint in endpoints
        ],
    )
