"""Executes each command twice: in the service, and in the reference model."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from api.errors import status_of
from tests.integration.projector import command_strategies as d
from tests.integration.projector.reference_model import Place, ReferenceModel
from tests.integration.projector.reference_values import ExpectedRefusal
from tests.integration.projector.sample_log import raws
from tests.store_clock import BEGINNING, Clock
from write_side import commands as c
from write_side.dispatch import CommandResult, execute
from write_side.domain.definition import Field, Option, Stage
from write_side.domain.events import Plan, Translation
from write_side.domain.identity import Actor, Scope
from write_side.domain.refusals import Refused
from write_side.repository import Repository

ACTOR = Actor("operator", "laws")


class PairedCommands:
    """``models``: the reference model at each position of the log at which a command ended."""

    def __init__(self, repository: Repository) -> None:
        self.reference = ReferenceModel()
        self.models = {0: ReferenceModel()}
        self._repository = repository
        self._numbers = itertools.count(1)
        self._last = BEGINNING

    @property
    def _now(self) -> datetime:
        """No event is earlier than the one before it, even if the clock was set back."""
        return max(self._last, Clock.time)

    async def begin(self, beginnings: list[d.Beginning]) -> None:
        Clock.time = BEGINNING
        plan = Plan(staging=True)
        for workspace in d.WORKSPACES:
            await self.execute_in_both(
                partial(self.reference.create_workspace, workspace, msgspec.structs.asdict(plan)),
                c.CreateWorkspace(actor=ACTOR, workspace=workspace, name="W", plan=plan),
            )
            await self.add_environment((workspace, "staging"))
            await self.put_media(workspace, d.MEDIA[0])
        for place, definition, new in beginnings:
            await self.create_type(place, d.TYPES[0], definition)
            for one in new:
                await self.create_entry(place, 0, one)

    async def execute(self, commands: list[d.DrawnCommand]) -> None:
        for name, arguments in commands:
            await getattr(self, name)(**arguments)

    async def time_passes(self, seconds: float) -> None:
        Clock.time += timedelta(seconds=seconds)

    async def create_entry(self, place: Place, number: int, new: dict[str, Any]) -> None:
        await self._create(place, self._type(place, number), new)

    async def _create(self, place: Place, type_slug: str, new: dict[str, Any]) -> None:
        drawn = self._new(place, new)
        await self.execute_in_both(
            partial(self.reference.create_entry, self._now, place, type_slug, drawn),
            created(place, type_slug, drawn),
        )

    async def create_oddly(
        self, place: Place, number: int, new: dict[str, Any], values: dict[str, Any]
    ) -> None:
        await self.create_entry(place, number, {**new, "fields": {**new["fields"], **values}})

    async def import_entries(self, place: Place, number: int, rows: list[dict[str, Any]]) -> None:
        type_slug, drawn = self._type(place, number), [self._new(place, row) for row in rows]
        await self.execute_in_both(
            partial(self.reference.import_entries, self._now, place, type_slug, drawn),
            c.ImportEntries(
                actor=ACTOR,
                scope=Scope(*place),
                content_type_slug=type_slug,
                import_id=entry_id(next(self._numbers)),
                file_name="rows.csv",
                entries=[created(place, type_slug, row) for row in drawn],
            ),
        )

    async def update_entry(self, place: Place, number: int, changes: dict[str, Any]) -> None:
        await self._update(place, self._which(place, number), self._resolved(place, changes))

    async def status_changes(self, place: Place, number: int, statuses: list[str]) -> None:
        one = self._which(place, number)
        for status in statuses:
            Clock.time += timedelta(milliseconds=1)
            await self._update(place, one, {"fields": {}, "status": status})

    async def slugs_change_hands(self, place: Place, number: int) -> None:
        one, other = self._which(place, number), self._which(place, number + 1)
        for entry, slug in ((one, "aside"), (other, "one"), (one, "two"), (one, "one")):
            await self._update(place, entry, {"fields": {}, "slug": slug})

    async def _update(self, place: Place, one: str, drawn: dict[str, Any]) -> None:
        await self.execute_in_both(
            partial(self.reference.update_entry, self._now, place, one, drawn),
            updated(place, one, drawn),
        )

    async def delete_entry(self, place: Place, number: int) -> None:
        """Entries that refer to the deleted one are saved again with another title and the same
        fields."""
        gone = self._which(place, number)
        await self._delete(place, gone)
        for entry in list(self.reference.of(place)):
            if gone in json.dumps(entry["fields"]):
                drawn = {"fields": entry["fields"], "title": f"{entry['title']} again"}
                await self._update(place, entry["id"], drawn)

    async def replace_entry(self, place: Place, number: int, new: dict[str, Any]) -> None:
        """The slug of a deleted entry is free at once."""
        one = self._which(place, number)
        for entry in [entry for entry in self.reference.of(place) if entry["id"] == one]:
            await self._delete(place, one)
            same = {what: entry[what] for what in ("slug", "language")}
            await self._create(place, entry["type"], {**new, **same})

    async def _delete(self, place: Place, one: str) -> None:
        await self.execute_in_both(
            partial(self.reference.delete_entry, self._now, place, one),
            c.DeleteEntry(actor=ACTOR, scope=Scope(*place), entry_id=one),
        )

    async def create_type(self, place: Place, slug: str, definition: dict[str, Any]) -> None:
        await self.execute_in_both(
            partial(self.reference.create_type, self._now, place, slug, **definition),
            c.CreateContentType(actor=ACTOR, scope=Scope(*place), slug=slug, **defined(definition)),
        )

    async def revise_type(self, place: Place, number: int, definition: dict[str, Any]) -> None:
        slug = self._type(place, number)
        await self.execute_in_both(
            partial(self.reference.revise_type, self._now, place, slug, **definition),
            c.ReviseContentType(actor=ACTOR, scope=Scope(*place), slug=slug, **defined(definition)),
        )

    async def remove_type(self, place: Place, number: int, emptied: bool) -> None:
        slug = self._type(place, number)
        for one in [entry["id"] for entry in self.reference.of(place, slug)] if emptied else []:
            await self._delete(place, one)
        await self.execute_in_both(
            partial(self.reference.remove_type, self._now, place, slug),
            c.RemoveContentType(actor=ACTOR, scope=Scope(*place), slug=slug),
        )

    async def change_plan(self, workspace: str, plan: dict[str, Any]) -> None:
        await self.execute_in_both(
            partial(self.reference.change_plan, workspace, plan),
            c.ChangePlan(actor=ACTOR, workspace=workspace, plan=Plan(**plan)),
        )

    async def add_environment(self, place: Place) -> None:
        await self.execute_in_both(
            partial(self.reference.add_environment, place),
            c.AddEnvironment(actor=ACTOR, scope=Scope(*place)),
        )

    async def put_media(self, workspace: str, media_id: str) -> None:
        await self.execute_in_both(
            partial(self.reference.put_media, workspace, media_id),
            c.PutMedia(
                actor=ACTOR,
                workspace=workspace,
                media_id=media_id,
                url="https://cdn.example/1",
                name=f"{Clock.time:%M}",
                content_type="image/png",
            ),
        )

    async def remove_media(self, workspace: str, media_id: str) -> None:
        await self.execute_in_both(
            partial(self.reference.remove_media, workspace, media_id),
            c.RemoveMedia(actor=ACTOR, workspace=workspace, media_id=media_id),
        )

    async def execute_in_both(
        self, apply_to_reference: Callable[[], None], command: c.Command
    ) -> None:
        """Executes the command in both. Either both accept it, or both refuse it with the same
        status."""
        status = 200
        try:
            apply_to_reference()
        except ExpectedRefusal as refusal:
            status = refusal.status
        executed = await self._execute(command)
        if isinstance(executed, CommandResult):
            assert status == 200, command
            if executed.events:
                self._last = self._now
                self._remember(executed.position)
        else:
            assert status_of(executed) == status, (executed, command)

    def _remember(self, position: int) -> None:
        self.models[position] = copy.deepcopy(self.reference)

    async def _execute(self, command: c.Command) -> CommandResult | Refused:
        try:
            return await execute(command, self._repository)
        except Refused as refusal:
            return refusal

    def _new(self, place: Place, drawn: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        slug = f"new-{number}" if drawn["slug"] == d.NEW else drawn["slug"]
        return {**self._resolved(place, drawn), "id": entry_id(number), "slug": slug}

    def _resolved(self, place: Place, drawn: dict[str, Any]) -> dict[str, Any]:
        """Replaces numbers of entries in values by their ids."""
        fields = dict(drawn["fields"])
        if isinstance(fields.get("author"), int):
            fields["author"] = self._which(place, fields["author"])
        if isinstance(fields.get("related"), list):
            fields["related"] = [self._which(place, number) for number in fields["related"]]
        if isinstance(fields.get("faq"), list):
            fields["faq"] = [
                {**one, "who": self._which(place, one["who"])} if "who" in one else one
                for one in fields["faq"]
            ]
        return {**drawn, "fields": fields}

    def _type(self, place: Place, number: int) -> str:
        here = sorted(self.reference.types.get(place, ()))
        if number < d.ELSEWHERE and here:
            return here[number % len(here)]
        return d.TYPES[number % len(d.TYPES)]

    def _which(self, place: Place, number: int) -> str:
        here = [entry["id"] for entry in self.reference.of(place)]
        if number < d.ELSEWHERE and here:
            return str(here[number % len(here)])
        return entry_id(number % d.ELSEWHERE + 1)


def entry_id(number: int) -> str:
    return f"00000000-0000-7000-8000-{number:012d}"


def created(place: Place, type_slug: str, drawn: dict[str, Any]) -> c.CreateEntry:
    return c.CreateEntry(
        actor=ACTOR,
        scope=Scope(*place),
        content_type_slug=type_slug,
        entry_id=drawn["id"],
        title=drawn["title"],
        slug=drawn["slug"],
        language=drawn["language"],
        status=drawn["status"],
        fields=raws(**drawn["fields"]),
        translations=translated(drawn["texts"]),
    )


def updated(place: Place, one: str, drawn: dict[str, Any]) -> c.UpdateEntry:
    properties: dict[str, Any] = {
        what: drawn[what] for what in ("title", "slug", "status") if what in drawn
    }
    if "stage" in drawn:
        properties["stage_id"] = drawn["stage"]
    return c.UpdateEntry(
        actor=ACTOR,
        scope=Scope(*place),
        entry_id=one,
        fields=raws(**drawn["fields"]),
        translations=translated(drawn.get("texts", {})),
        **properties,
    )


def translated(drawn: dict[str, Any]) -> dict[str, Translation]:
    return {
        locale: Translation(texts["title"], raws(**texts["fields"]))
        for locale, texts in drawn.items()
    }


def defined(definition: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": definition["name"],
        "fields": tuple(map(field, definition["fields"])),
        "stages": tuple(Stage(stage, stage.title()) for stage in definition["stages"]),
    }


def field(drawn: dict[str, Any]) -> Field:
    return Field(
        slug=drawn["slug"],
        name=drawn["slug"].title(),
        type=drawn["type"],
        required=drawn.get("required", False),
        multiple=drawn.get("multiple", False),
        range=drawn.get("range", False),
        options=tuple(Option(one, one.title()) for one in drawn.get("options", ())),
        to=tuple(drawn.get("to", ())),
        fields=tuple(map(field, drawn.get("fields", ()))),
        indexed=drawn.get("indexed", False),
        searchable=drawn.get("searchable", False),
    )
