"""After any sequence of commands, the claims are those that follow from the log."""

from __future__ import annotations

import ast
import asyncio
import hashlib
import inspect
import random
from collections.abc import Callable

import pytest

from tests.integration.live_projector import connected
from tests.integration.write_side import sample_commands
from tests.integration.write_side.sample_commands import ACTOR, check_store, create
from write_side import commands as c
from write_side.commands import Command
from write_side.dispatch import execute
from write_side.domain.definition import Field
from write_side.domain.events import (
    TOPICS,
    Event,
    ImportMappingSaved,
    ImportRecorded,
    ImportReverted,
    MediaAdded,
    MediaChanged,
    MediaRemoved,
    Plan,
    WebhookChanged,
    WebhookCreated,
    WebhookRemoved,
    WebhookSecretRotated,
    WebhookSwitchedOff,
    WebhookSwitchedOn,
    WorkspaceRenamed,
)
from write_side.domain.identity import Scope
from write_side.domain.refusals import Refused
from write_side.repository import Repository
from write_side.verification import claims

CLAIMLESS = {
    WorkspaceRenamed,
    ImportRecorded,
    ImportReverted,
    ImportMappingSaved,
    MediaAdded,
    MediaChanged,
    MediaRemoved,
    # Their secrets cannot be derived from the log.
    WebhookCreated,
    WebhookChanged,
    WebhookRemoved,
    WebhookSwitchedOff,
    WebhookSwitchedOn,
    WebhookSecretRotated,
}


class RandomCommands:
    """Sends random commands on so few objects that many of them conflict."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)
        self.entries: list[tuple[Scope, str]] = []
        self.imports = 0
        self._asks: list[tuple[int, Callable[[], Command]]] = [
            (12, self.create),
            (6, self.rename),
            (5, self.delete),
            (2, self.retitle),
            (2, self.importing),
            (2, self.create_type),
            (2, self.revise_type),
            (1, self.remove_type),
            (2, self.issue),
            (1, self.permit),
            (1, self.revoke),
            (1, self.plan),
            (1, self.environment),
            (1, self.workspace),
        ]

    def ask(self) -> Command:
        weights, asks = zip(*self._asks, strict=True)
        ask: Callable[[], Command] = self.choice.choices(asks, weights)[0]
        return ask()

    def scope(self) -> Scope:
        workspace = self.choice.choice(("acme", "acme", "beta"))
        return Scope(workspace, self.choice.choice(("production", "production", "staging")))

    def slug(self) -> str:
        return f"slug-{self.choice.randrange(25)}"

    def type_slug(self) -> str:
        return self.choice.choice(("posts", "posts", "pages"))

    def entry(self) -> tuple[Scope, str]:
        none = (self.scope(), "018f0000-0000-7000-8000-00000000dead")
        return self.choice.choice(self.entries) if self.entries else none

    def create(self, scope: Scope | None = None, type_slug: str | None = None) -> c.CreateEntry:
        found = create(
            self.slug(),
            scope=scope or self.scope(),
            content_type_slug=type_slug or self.type_slug(),
            language=self.choice.choice(("en-US", "fr-FR")),
        )
        assert found.entry_id is not None
        self.entries.append((found.scope, found.entry_id))
        return found

    def rename(self) -> Command:
        scope, entry_id = self.entry()
        return c.UpdateEntry(actor=ACTOR, scope=scope, entry_id=entry_id, slug=self.slug())

    def retitle(self) -> Command:
        scope, entry_id = self.entry()
        return c.UpdateEntry(actor=ACTOR, scope=scope, entry_id=entry_id, title=self.slug())

    def delete(self) -> Command:
        scope, entry_id = self.entry()
        return c.DeleteEntry(actor=ACTOR, scope=scope, entry_id=entry_id)

    def importing(self) -> Command:
        scope, type_slug = self.scope(), self.type_slug()
        self.imports += 1
        return c.ImportEntries(
            actor=ACTOR,
            scope=scope,
            content_type_slug=type_slug,
            import_id=f"i{self.imports}",
            file_name="rows.csv",
            entries=[self.create(scope, type_slug) for _ in range(self.choice.randrange(1, 4))],
        )

    def create_type(self) -> Command:
        return c.CreateContentType(
            actor=ACTOR, scope=self.scope(), slug=self.type_slug(), name="Type", fields=()
        )

    def revise_type(self) -> Command:
        field = Field(self.slug(), "Field", "text")
        return c.ReviseContentType(
            actor=ACTOR, scope=self.scope(), slug=self.type_slug(), name="Type", fields=(field,)
        )

    def remove_type(self) -> Command:
        return c.RemoveContentType(actor=ACTOR, scope=self.scope(), slug=self.type_slug())

    def issue(self) -> Command:
        secret = hashlib.sha256(self.slug().encode()).hexdigest()
        return c.IssueKey(
            actor=ACTOR,
            workspace=self.scope().workspace,
            name=f"key-{self.choice.randrange(3)}",
            permissions=("content.view",),
            secret_hash=secret,
        )

    def permit(self) -> Command:
        return c.PermitKey(
            actor=ACTOR,
            workspace=self.scope().workspace,
            name=f"key-{self.choice.randrange(3)}",
            permissions=("content.view", "content.edit"),
        )

    def revoke(self) -> Command:
        return c.RevokeKey(
            actor=ACTOR,
            workspace=self.scope().workspace,
            name=f"key-{self.choice.randrange(3)}",
        )

    def plan(self) -> Command:
        entries = self.choice.choice((None, 3, 10, 20))
        plan = Plan(entries=entries, content_types=self.choice.choice((None, 1)), staging=True)
        return c.ChangePlan(actor=ACTOR, workspace=self.scope().workspace, plan=plan)

    def environment(self) -> Command:
        return c.AddEnvironment(actor=ACTOR, scope=self.scope())

    def workspace(self) -> Command:
        return c.CreateWorkspace(
            actor=ACTOR, workspace="beta", name="Beta", plan=Plan(entries=8, staging=True)
        )


async def _try(command: Command, repository: Repository) -> set[type[Event]]:
    """The kinds of events that the command appended; none if it was refused."""
    try:
        executed = await execute(command, repository)
    except Refused:
        return set()
    return {type(event.event) for event in executed.events}


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
async def test_claims_equal_those_derived_from_the_log_after_any_commands(
    repositories: list[Repository], seed: int
) -> None:
    await sample_commands.magazine(repositories[0], Plan(staging=True))
    anyone, seen = RandomCommands(seed), set[type[Event]]()
    for _ in range(40):
        asked = [anyone.ask() for _ in range(10)]
        found = await asyncio.gather(
            *(_try(command, repositories[n % 3]) for n, command in enumerate(asked))
        )
        seen = seen.union(*found)
        await check_store(repositories[0])
    assert len(seen) >= 12


async def test_wrong_claims_are_detected(repository: Repository, database_url: str) -> None:
    await sample_commands.magazine(repository)
    await sample_commands.entry(repository, "post")
    await check_store(repository)
    async with connected(database_url) as owner:
        await owner.execute("UPDATE write_side.usage SET used = used + 1")
    with pytest.raises(AssertionError):
        await check_store(repository)


def test_every_event_is_known_to_claim_something_or_nothing() -> None:
    tree = ast.parse(inspect.getsource(claims))
    patterns = [node.cls for node in ast.walk(tree) if isinstance(node, ast.MatchClass)]
    claiming = {pattern.id for pattern in patterns if isinstance(pattern, ast.Name)} - {"str"}
    claimless = {event_type.__name__ for event_type in CLAIMLESS}
    events = {event_type.__name__ for event_type in TOPICS.values()}
    assert events == claiming | claimless, "add them to verification/claims.py or to CLAIMLESS"
    assert not claiming & claimless
