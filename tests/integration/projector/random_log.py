"""A log of random commands in which every kind of event occurs; the same for the same seed."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tests.integration.projector.sample_log import raws
from write_side import commands as c
from write_side.dispatch import CommandResult, execute
from write_side.domain.definition import Field, Stage
from write_side.domain.events import EntryCreated, MappedColumn, Plan, Status, Translation
from write_side.domain.identity import Actor, Scope, new_id
from write_side.domain.refusals import Refused
from write_side.domain.webhook import new_webhook_secret
from write_side.domain.workspace import PERMISSIONS
from write_side.repository import Repository

ACTOR = Actor("operator", "story")
WORKSPACES = ("acme", "other")
LOCALES = ("fr-FR", "de-DE", "zh-TW")
LANGUAGES = ("en-US", "en-US", "sv-SE")
STATUSES: tuple[Status, ...] = ("draft", "published", "archived")
INNER = Field("q", "Question", "text")
FIELDS = (
    Field("body", "Body", "text"),
    Field("lead", "Lead", "rich_text"),
    Field("views", "Views", "number"),
    Field("faq", "FAQ", "repeater", fields=(INNER, Field("rank", "Rank", "number"))),
    Field("any", "Any", "json"),
    Field("layout", "Layout", "section"),
)
STAGES = (Stage("writing", "Writing"), Stage("review", "Review"))


class RandomCommands:
    """Executes random commands. Those that are refused have no effect."""

    def __init__(self, repository: Repository, seed: int) -> None:
        self._repository = repository
        self._random = random.Random(seed)
        # A generator of its own, so that the commands are the same with other settings.
        self._settings = random.Random(seed)
        self._entries: dict[Scope, list[str]] = {}
        self._types: dict[Scope, list[str]] = {}
        self._commands = [
            (self._create, 30),
            (self._update, 25),
            (self._translate, 15),
            (self._publish, 10),
            (self._swap, 5),
            (self._delete, 8),
            (self._revise, 8),
            (self._remove_type, 8),
            (self._make_type, 10),
            (self._around, 20),
            (self._import, 2),
        ]

    async def execute(self, steps: int) -> None:
        for workspace in WORKSPACES:
            plan = Plan(staging=True, entries=10_000)
            await self._do(c.CreateWorkspace(actor=ACTOR, workspace=workspace, name="W", plan=plan))
            await self._do(c.AddEnvironment(actor=ACTOR, scope=Scope(workspace, "staging")))
            await self._make_type(Scope(workspace, "production"))
        await self._make_type(Scope("acme", "staging"))
        await self.go_on(steps)

    async def go_on(self, steps: int) -> None:
        commands, weights = zip(*self._commands, strict=True)
        for _ in range(steps):
            scope = self._random.choice(list(self._types))
            [command] = self._random.choices(commands, weights)
            await command(scope)

    async def _do(self, command: c.Command) -> CommandResult | None:
        try:
            return await execute(command, self._repository)
        except Refused:
            return None

    def _slug(self) -> str:
        return f"slug-{self._random.randrange(200)}"

    def _values(self) -> dict[str, Raw]:
        every: dict[str, Any] = {
            "body": self._random.choice(["Hello", "", "Ünï ✓", None]),
            "lead": "Lead",
            "views": self._random.choice([1, 2.5, -7]),
            "faq": [{"q": f"Q{n}", "rank": n} for n in range(self._random.randrange(3))],
            "any": self._random.choice([{"b": 1, "a": [None]}, "text", 7]),
        }
        chosen = self._random.sample(sorted(every), self._random.randrange(len(every) + 1))
        return raws(**{slug: every[slug] for slug in chosen})

    def _texts(self) -> Translation:
        title = self._random.choice([None, "", "Titre"])
        body = self._random.choice([None, "", "Texte"])
        faq = [{"q": "Pourquoi ?"} for _ in range(self._random.randrange(3))]
        return Translation(title, raws(body=body, faq=faq))

    def _new(self, scope: Scope) -> c.CreateEntry:
        return c.CreateEntry(
            actor=ACTOR,
            scope=scope,
            content_type_slug=self._random.choice(self._types[scope]),
            title="Title",
            slug=self._slug(),
            fields=self._values(),
            language=self._random.choice(LANGUAGES),
            status=self._random.choice(STATUSES),
            translations={locale: self._texts() for locale in self._random.sample(LOCALES, 1)},
        )

    def _one(self, scope: Scope) -> str:
        entries = self._entries.get(scope)
        return self._random.choice(entries) if entries else new_id()

    async def _create(self, scope: Scope) -> None:
        done = await self._do(self._new(scope))
        if done is not None:
            created = done.events[0].event
            assert isinstance(created, EntryCreated)
            self._entries.setdefault(scope, []).append(created.entry_id)

    async def _update(self, scope: Scope) -> None:
        await self._do(
            c.UpdateEntry(
                actor=ACTOR,
                scope=scope,
                entry_id=self._one(scope),
                title=self._random.choice(["Title", "Other"]),
                slug=self._slug(),
                fields=self._values(),
            )
        )

    async def _translate(self, scope: Scope) -> None:
        locale = self._random.choice(LOCALES)
        texts = self._texts()
        await self._do(
            c.UpdateEntry(
                actor=ACTOR,
                scope=scope,
                entry_id=self._one(scope),
                translations={locale: texts},
            )
        )

    async def _publish(self, scope: Scope) -> None:
        status = self._random.choice(STATUSES)
        entry_id = self._one(scope)
        await self._do(c.UpdateEntry(actor=ACTOR, scope=scope, entry_id=entry_id, status=status))
        stage = self._random.choice(STAGES).id
        await self._do(c.UpdateEntry(actor=ACTOR, scope=scope, entry_id=entry_id, stage_id=stage))

    async def _swap(self, scope: Scope) -> None:
        first, second = self._one(scope), self._one(scope)
        one, two = self._slug(), self._slug()
        for entry_id, slug in ((first, one), (second, two), (first, "aside"), (second, one)):
            await self._do(c.UpdateEntry(actor=ACTOR, scope=scope, entry_id=entry_id, slug=slug))
        await self._do(c.UpdateEntry(actor=ACTOR, scope=scope, entry_id=first, slug=two))

    async def _delete(self, scope: Scope) -> None:
        await self._do(c.DeleteEntry(actor=ACTOR, scope=scope, entry_id=self._one(scope)))

    async def _revise(self, scope: Scope) -> None:
        slug = self._random.choice(self._types[scope])
        await self._do(
            c.ReviseContentType(actor=ACTOR, scope=scope, slug=slug, **self._definition())
        )

    def _definition(self) -> dict[str, Any]:
        fields = self._random.sample(FIELDS, self._random.randrange(2, len(FIELDS) + 1))
        fields = [replace(field, indexed=self._indexed(field)) for field in fields]
        stages = self._random.choice([(), STAGES, STAGES[:1], STAGES[::-1]])
        return {"name": "Posts", "fields": tuple(fields), "stages": stages}

    def _indexed(self, field: Field) -> bool:
        return "indexed" in field.spec.settings and self._settings.random() < 0.5

    async def _make_type(self, scope: Scope) -> None:
        slug = f"type-{self._random.randrange(3)}"
        done = await self._do(
            c.CreateContentType(actor=ACTOR, scope=scope, slug=slug, **self._definition())
        )
        if done is not None:
            self._types.setdefault(scope, []).append(slug)

    async def _remove_type(self, scope: Scope) -> None:
        """Removes a type with all of its entries, and sometimes creates it again."""
        if len(self._types[scope]) < 2:
            return
        slug = self._random.choice(self._types[scope])
        type_id = (await self._repository.content_type(scope, slug)).id
        for entry_id in list(self._entries.get(scope, ())):
            try:
                entry = await self._repository.entry(scope, entry_id)
            except Refused:
                continue
            if entry.content_type_id == type_id:
                await self._do(c.DeleteEntry(actor=ACTOR, scope=scope, entry_id=entry_id))
        await self._do(c.RemoveContentType(actor=ACTOR, scope=scope, slug=slug))
        self._types[scope].remove(slug)

    async def _around(self, scope: Scope) -> None:
        """Changes what surrounds the entries: names, plans, keys, media, webhooks."""
        workspace, n = scope.workspace, self._random.randrange(2)
        name = f"name-{n}"
        permissions = PERMISSIONS[: 1 + self._random.getrandbits(1)]
        webhook: dict[str, Any] = {"actor": ACTOR, "workspace": workspace, "name": name}
        definition: dict[str, Any] = {
            **webhook,
            "url": f"https://hooks.example/{self._random.randrange(3)}",
            "environment": scope.environment,
            "types": tuple(self._types[scope][:1]),
        }
        for command in self._random.sample(
            [
                c.RenameWorkspace(actor=ACTOR, workspace=workspace, name=name),
                c.ChangePlan(
                    actor=ACTOR, workspace=workspace, plan=Plan(staging=True, entries=1_000 + n)
                ),
                c.IssueKey(
                    actor=ACTOR,
                    workspace=workspace,
                    name=name,
                    permissions=permissions,
                    secret_hash=f"{self._random.getrandbits(64):x}",
                ),
                c.PermitKey(actor=ACTOR, workspace=workspace, name=name, permissions=permissions),
                c.RevokeKey(actor=ACTOR, workspace=workspace, name=name),
                c.PutMedia(
                    actor=ACTOR,
                    workspace=workspace,
                    media_id=name,
                    url=f"https://cdn.example/{self._random.randrange(3)}",
                    name=name,
                    content_type="image/png",
                ),
                c.RemoveMedia(actor=ACTOR, workspace=workspace, media_id=name),
                c.CreateWebhook(**definition, secret=new_webhook_secret()),
                c.ChangeWebhook(**definition),
                c.SwitchWebhookOff(**webhook, reason="HTTP 500"),
                c.SwitchWebhookOn(**webhook),
                c.RotateWebhookSecret(**webhook, secret=new_webhook_secret()),
                c.RemoveWebhook(**webhook),
            ],
            8,
        ):
            await self._do(command)

    async def _import(self, scope: Scope) -> None:
        """Imports new entries and changes of existing ones; half of the imports are reverted."""
        slug = self._random.choice(self._types[scope])
        import_id = new_id()
        new = [
            msgspec.structs.replace(self._new(scope), content_type_slug=slug, slug=new_id())
            for _ in range(3)
        ]
        await self._do(
            c.ImportEntries(
                actor=ACTOR,
                scope=scope,
                content_type_slug=slug,
                import_id=import_id,
                file_name="rows.csv",
                entries=[*new, *await self._changes_of(scope, slug)],
                skipped=1,
            )
        )
        columns = (MappedColumn("Name", self._random.choice(["Title", ""])),)
        await self._do(
            c.SaveImportMapping(actor=ACTOR, scope=scope, content_type_slug=slug, columns=columns)
        )
        if self._settings.random() < 0.5:
            await self._do(c.RevertImport(actor=ACTOR, scope=scope, import_id=import_id))

    async def _changes_of(self, scope: Scope, slug: str) -> list[c.UpdateEntry]:
        """Changes of at most two entries of the type, because an import has one type."""
        known = self._entries.get(scope, [])
        types = await self._repository.types_of_entries(scope, known)
        return [
            c.UpdateEntry(actor=ACTOR, scope=scope, entry_id=entry_id, fields=self._values())
            for entry_id in known
            if types.get(entry_id) == slug
        ][-2:]
