"""Applies commands over REST and GraphQL, and to the reference model."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from tests.integration.api.server import Answer, Client, Server
from tests.integration.projector import command_strategies as d
from tests.integration.projector.paired_commands import PairedCommands
from tests.integration.projector.reference_model import Place
from tests.integration.projector.reference_values import ExpectedRefusal
from write_side.repository import Repository

MUTATION = """mutation (%s) {
  done: %sContentEntry(%s) { success message %s }
}"""
CREATE = MUTATION % (
    "$input: CreateContentEntryInput!",
    "create",
    "input: $input",
    "entry { id version }",
)
UPDATE = MUTATION % (
    "$id: ID!, $input: UpdateContentEntryInput!",
    "update",
    "id: $id, input: $input",
    "entry { id version }",
)
DELETE = MUTATION % ("$id: ID!", "delete", "id: $id", "")
REST_DEFAULTS = {"status": "draft", "language": "en-US", "texts": {}}
WORDS = {
    402: ("plan",),
    404: ("not found",),
    409: ("already exists", "is at version"),
}
"""Text that appears only in the messages of each status."""


class Outcome(NamedTuple):
    """``status`` is None for a GraphQL refusal, which has REST's message but no status."""

    api: str
    status: int | None
    message: str = ""


class ApiWriter(PairedCommands):
    """Writes entries over REST and GraphQL. Types, plans and files have no API, so their commands
    run on the write side directly."""

    def __init__(self, repository: Repository, server: Server) -> None:
        super().__init__(repository)
        self.server = server
        self.found: set[str] = set()
        self._counter = itertools.count()

    async def begin(self, beginnings: list[d.Beginning]) -> None:
        await super().begin([])
        for workspace in d.WORKSPACES:
            await self.server.key(f"secret-of-{workspace}", workspace)
        for place, definition, new in beginnings:
            await self.create_type(place, d.TYPES[0], definition)
            for one in new:
                await self.create_entry(place, 0, one)

    def client(self, place: Place) -> Client:
        return self.server.client(f"secret-of-{place[0]}")

    def is_excluded_by_plan(self, place: Place) -> bool:
        """Whether every request gets a 402 because the workspace's plan excludes staging."""
        return place[1] == "staging" and not self.reference.workspaces[place[0]]["plan"]["staging"]

    async def ask(self, place: Place, document: str, **variables: Any) -> Answer:
        """Encodes the body with msgspec, because the service stores field values byte for byte."""
        return await self.client(place).post(
            msgspec.json.encode({"query": document, "variables": variables}),
            f"/graphql?environment={place[1]}",
            headers={"Content-Type": "application/json"},
        )

    async def get(self, place: Place, path: str, **query: object) -> Answer:
        parameters = {"environment": place[1], **query}
        query_string = "&".join(f"{name}={quote(str(value))}" for name, value in parameters.items())
        return await self.client(place).get(f"{path}?{query_string}")

    # Commands

    async def _create(self, place: Place, type_slug: str, new: dict[str, Any]) -> None:
        is_over_rest = next(self._counter) % 2 == 0
        drawn = self._new(place, {**new, **REST_DEFAULTS} if is_over_rest else new)
        body = create_input(type_slug, drawn)
        if is_over_rest:
            outcome, entry = await self._post_entry(place, body)
        else:
            outcome, entry = await self._mutate(place, CREATE, input=body)
        drawn["id"] = entry["id"] if entry else drawn["id"]
        self._check_outcome(
            place, outcome, partial(self.reference.create_entry, self._now, place, type_slug, drawn)
        )

    async def _update(self, place: Place, one: str, drawn: dict[str, Any]) -> None:
        expected = self._expected(place, one)
        arguments = {
            **update_input(drawn),
            **({} if expected is None else {"expectedVersion": expected}),
        }
        outcome, entry = await self._mutate(place, UPDATE, id=one, input=arguments)
        asked = {**drawn, "expected": expected}
        self._check_outcome(
            place, outcome, partial(self.reference.update_entry, self._now, place, one, asked)
        )
        if entry:
            assert entry["version"] == self.reference.entry(place, one)["version"], arguments

    async def add_and_remove_translation(self, place: Place, number: int, locale: str) -> None:
        one = self._which(place, number)
        for text in ("Titre", ""):
            texts = {locale: {"title": text, "fields": {"body": text}}}
            await self._update(place, one, {"fields": {}, "texts": texts})

    def _expected(self, place: Place, one: str) -> int | None:
        """The current version, a stale version, or None."""
        try:
            version = int(self.reference.entry(place, one)["version"])
        except ExpectedRefusal:
            return 1
        return (None, version, version - 1, None, version)[next(self._counter) % 5]

    async def _delete(self, place: Place, one: str) -> None:
        outcome, _ = await self._mutate(place, DELETE, id=one)
        self._check_outcome(
            place, outcome, partial(self.reference.delete_entry, self._now, place, one)
        )

    def _check_outcome(
        self, place: Place, outcome: Outcome, apply_to_reference: Callable[[], None]
    ) -> None:
        expected_status = 200
        try:
            if self.is_excluded_by_plan(place):
                raise ExpectedRefusal(402)
            before = self._versions(place)
            apply_to_reference()
            if self._versions(place) != before:
                self._last = self._now
        except ExpectedRefusal as refusal:
            expected_status = refusal.status
        self.found.add(f"{outcome.api} {expected_status}")
        assert (outcome.status == 200) == (expected_status == 200), (outcome, expected_status)
        if outcome.api == "REST":
            assert outcome.status == expected_status
        elif expected_status != 200:
            message = outcome.message
            named_statuses = {
                one for one, words in WORDS.items() if any(word in message for word in words)
            }
            assert named_statuses == ({expected_status} & WORDS.keys()), (outcome, expected_status)

    def _versions(self, place: Place) -> dict[str, int]:
        return {entry["id"]: int(entry["version"]) for entry in self.reference.of(place)}

    async def _post_entry(self, place: Place, body: dict[str, Any]) -> tuple[Outcome, Any]:
        """Creates an entry over REST, without the members that REST does not accept."""
        sent = {
            what: body[what]
            for what in ("contentTypeSlug", "title", "slug", "fields")
            if what in body
        }
        answer = await self.client(place).post(
            msgspec.json.encode(sent), f"/v1/content?environment={place[1]}"
        )
        return Outcome("REST", answer.status), answer.data if answer.status == 200 else None

    async def _mutate(self, place: Place, document: str, **variables: Any) -> tuple[Outcome, Any]:
        answer = await self.ask(place, document, **variables)
        assert answer.status == 200, answer.text
        assert "errors" not in answer.body, answer.text
        done = answer.body["data"]["done"]
        outcome = Outcome("GraphQL", 200 if done["success"] else None, done["message"])
        return outcome, done.get("entry")


def create_input(type_slug: str, drawn: dict[str, Any]) -> dict[str, Any]:
    body = {
        "contentTypeSlug": type_slug,
        **{what: drawn[what] for what in ("title", "slug", "language", "status", "fields")},
        "translations": translation_inputs(drawn["texts"]),
    }
    return {what: given for what, given in body.items() if given is not None}


def update_input(drawn: dict[str, Any]) -> dict[str, Any]:
    named = ("title", "slug", "status", "fields")
    changes: dict[str, Any] = {what: drawn[what] for what in named if what in drawn}
    if "stage" in drawn:
        changes["stageId"] = drawn["stage"]
    if "texts" in drawn:
        changes["translations"] = translation_inputs(drawn["texts"])
    return changes


def translation_inputs(texts: dict[str, Any]) -> list[dict[str, Any]]:
    """Omits unchanged titles: a null would remove the translation."""
    return [
        {"locale": locale, **{what: given for what, given in one.items() if given is not None}}
        for locale, one in texts.items()
    ]
