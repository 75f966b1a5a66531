"""The webhooks of an environment: their state, their last deliveries, and what can be done."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlsplit

from aiohttp import web

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import Form, redirect, show
from api.webhooks.message import TEST
from api.webhooks.operations import ListedWebhook, WebhookOperations
from write_side.domain.refusals import InvalidDefinition, UnknownWebhook
from write_side.domain.workspace import expiry
from write_side.store.webhook_cursors import DeliveryOutcome

OUTCOMES: tuple[tuple[DeliveryOutcome, str], ...] = (
    ("", "Any"),
    ("delivered", "Delivered"),
    ("failed", "Failed"),
    ("3xx", "HTTP 3xx"),
    ("4xx", "HTTP 4xx"),
    ("5xx", "HTTP 5xx"),
    ("none", "No response"),
)


async def show_webhooks(request: DashboardRequest) -> web.StreamResponse:
    every = await _operations(request).list()
    listed = [webhook for webhook in every if webhook.environment == request.environment]
    return await show(request, "webhooks.html", webhooks=listed, host=host)


async def show_webhook(request: DashboardRequest) -> web.StreamResponse:
    return await _show(request, await _webhook(request))


async def _show(
    request: DashboardRequest,
    webhook: ListedWebhook,
    *,
    after: str = "",
    problem: str = "",
    unsent: str = "",
) -> web.StreamResponse:
    """The endpoint and its last deliveries. An invalid filter is ignored. ``problem``: why the
    endpoint is not replayed from ``after``. ``unsent``: why no test message was sent."""
    status = request.query.get("status", "")
    outcome: DeliveryOutcome = next((value for value, _ in OUTCOMES if value == status), "")
    since = _time(request.query.get("since", ""))
    deliveries = await _operations(request).deliveries(webhook.name, outcome=outcome, since=since)
    tests = (delivery for delivery in deliveries if delivery.type == TEST)
    return await show(
        request,
        "webhook.html",
        400 if problem or unsent else 200,
        webhook=webhook,
        deliveries=deliveries,
        outcomes=OUTCOMES,
        outcome=outcome,
        since=f"{since:%Y-%m-%dT%H:%M}" if since else "",
        address=address(webhook.url),
        is_replayed="replayed" in request.query,
        tested=next(tests, None) if "tested" in request.query else None,
        after=after,
        problem=problem,
        unsent=unsent,
    )


async def send_test(request: DashboardRequest, _form: Form) -> web.StreamResponse:
    webhook = await _webhook(request)
    async with request.service.webhook_tests.turn(request.scope.workspace):
        try:
            await _operations(request).test(webhook.name, request.service.settings.webhook_networks)
        except InvalidDefinition as refusal:
            return await _show(request, webhook, unsent=str(refusal))
    return redirect(request.link("webhooks", webhook.name, tested=1))


async def replay(request: DashboardRequest, form: Form) -> web.StreamResponse:
    webhook, after = await _webhook(request), form.get("after", "").strip()
    try:
        await _operations(request).replay(webhook.name, after, request.service.read_model)
    except InvalidDefinition as refusal:
        return await _show(request, webhook, after=after, problem=str(refusal))
    return redirect(request.link("webhooks", webhook.name, replayed=1))


async def switch_on(request: DashboardRequest, _form: Form) -> web.StreamResponse:
    webhook = await _webhook(request)
    position = await _operations(request).enable(webhook.name, request.actor, request.request_id)
    await request.wait_until_readable(position)
    return redirect(request.link("webhooks", webhook.name))


def address(url: str) -> str:
    """The URL without its query, which may have a secret."""
    return urlsplit(url)._replace(query="").geturl()


def host(url: str) -> str:
    return urlsplit(url).netloc


def _time(text: str) -> datetime | None:
    try:
        return expiry(text)
    except InvalidDefinition:
        return None


def _operations(request: DashboardRequest) -> WebhookOperations:
    return WebhookOperations(request.repository, request.scope.workspace)


async def _webhook(request: DashboardRequest) -> ListedWebhook:
    """Raises UnknownWebhook for one of another environment too."""
    webhook = await _operations(request).one(request.request.match_info["name"])
    if webhook.environment != request.environment:
        raise UnknownWebhook(webhook.name)
    return webhook
