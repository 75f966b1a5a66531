"""A random history of a workspace, applied to both the service and the reference model: entries are
created, changed, translated, published, archived and deleted, types revised and removed, media
files added and removed."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

import msgspec

from tests.integration.projector.paired_commands import ACTOR, PairedCommands, entry_id
from tests.integration.projector.reference_model import Place
from tests.integration.read_side.query_strategies import FIELDS as INDEXED
from tests.integration.read_side.query_strategies import LANGUAGES, STATUSES, TEXTS, random_values
from tests.store_clock import Clock
from write_side import commands as c
from write_side.domain.definition import Field
from write_side.repository import Repository

PLACE: Place = ("acme", "production")
ELSEWHERE: list[Place] = [("acme", "staging"), ("other", "production")]
IDS = [entry_id(number) for number in range(1, 90)]
LOCALES = ("en-US", "fr-FR", "pl-PL")
FILES = ("hero", "map")
SLUGS = [f"slug-{number}" for number in range(40)]
STEPS = [timedelta(milliseconds=n) for n in (0, 0, 1, 1, 2, 500, 70_000, 86_400_000)]
STEMS = {"tides": "tide", "lamps": "lamp"}
"""Words with the same stem in English and French. Polish has no stemmer."""
WORDS = ("tide", "tides", "lamp", "lamps", "fog", "salt")


def described(field: Field) -> dict[str, Any]:
    """The field in the reference model's format."""
    properties = {**msgspec.structs.asdict(field), "options": [one.value for one in field.options]}
    return {what: value for what, value in properties.items() if value}


BODY = {"slug": "body", "type": "rich_text", "searchable": True}
NOTE: dict[str, Any] = {"slug": "note", "type": "text"}
COVER = {"slug": "cover", "type": "media"}
PHOTO = {"slug": "photo", "type": "media", "multiple": True}
ABOUT = {"slug": "about", "type": "reference"}
FRIEND = {"slug": "friend", "type": "reference", "to": ["authors"]}
LAYOUT = {"slug": "layout", "type": "section"}
TYPES: dict[str, list[dict[str, Any]]] = {
    "authors": [BODY, FRIEND, PHOTO],
    "posts": [BODY, LAYOUT, *map(described, INDEXED), COVER],
    "notes": [NOTE, ABOUT],
    "flyers": [NOTE],
}
NOTES: list[list[dict[str, Any]]] = [[NOTE, ABOUT], [ABOUT, COVER], [NOTE, ABOUT, BODY, COVER]]
"""The field lists that revisions of notes choose from."""


class RandomHistory(PairedCommands):
    """``reference`` holds the expected state; its ``past`` includes media files."""

    def __init__(self, repository: Repository, seed: int) -> None:
        super().__init__(repository)
        self._rng = Random(seed)

    async def write(self, changes: int) -> None:
        await self.begin([])
        for place in [PLACE, *ELSEWHERE]:
            for slug, fields in TYPES.items():
                stages = ["writing", "review"] if slug == "posts" else []
                await self.create_type(place, slug, _definition(fields, stages))
        for file in FILES:
            await self.file(file, "1")
        for place in ELSEWHERE:
            await self.create(place, "authors", title="Salt", status="published")
            [author] = self.reference.of(place)
            new = {"status": "published", "fields": {"author": author["id"]}}
            await self.create(place, "posts", title="Tide lamp", **new)
        for number in range(8):
            slug = "authors" if number < 4 else "posts"
            await self.create(PLACE, slug, **self._random_properties(), fields=self._fields(slug))
        for _ in range(changes):
            Clock.time += self._rng.choice(STEPS)
            await self.change()
        Clock.time += timedelta(seconds=1)

    async def change(self) -> None:
        steps = [
            self._create_random_entry,
            self._update_random_entry,
            self._set_status,
            self._translate,
        ]
        steps += [self._delete_random_entry, self._revise, self._file, self._replace_flyers]
        [step] = self._rng.choices(steps, weights=[45, 20, 20, 15, 5, 1, 3, 1])
        await step()

    async def create(self, place: Place, type_slug: str, **arguments: Any) -> None:
        new: dict[str, Any] = {"slug": None, "language": "en-US", "status": "draft"}
        await self._create(place, type_slug, {**new, "fields": {}, "texts": {}, **arguments})

    async def edit(self, one: str, **changes: Any) -> None:
        await self._update(PLACE, one, {"fields": {}, **changes})

    async def delete(self, one: str) -> None:
        await self._delete(PLACE, one)

    async def file(self, media_id: str, url: str | None) -> None:
        """``url``: None removes the file."""
        workspace, object_id = PLACE[0], ("media", media_id)
        at = self._now
        if url is None:
            await self.remove_media(workspace, media_id)
            self.reference.past.record(at, object_id, None)
            return
        put = c.PutMedia(
            actor=ACTOR,
            workspace=workspace,
            media_id=media_id,
            content_type="image/png",
            url=f"https://cdn.example/{url}",
            name=f"{url}.png",
        )
        await self.execute_in_both(partial(self.reference.put_media, workspace, media_id), put)
        shown = {"id": media_id, "url": put.url, "name": put.name, "contentType": "image/png"}
        self.reference.past.record(at, object_id, {"what": "media", "shown": shown})

    def existing(self, *types: str) -> list[str]:
        return [one["id"] for one in self.reference.of(PLACE) if one["type"] in (types or TYPES)]

    def _remember(self, position: int) -> None:
        """Keeps no copy of the model: ``reference.past`` has the history."""

    def _resolved(self, _place: Place, drawn: dict[str, Any]) -> dict[str, Any]:
        return drawn

    async def _create_random_entry(self) -> None:
        types = ["posts", "posts", "posts", "posts", "authors", "notes", "flyers"]
        slug = self._rng.choice(types)
        await self.create(PLACE, slug, **self._random_properties(), fields=self._fields(slug))

    async def _update_random_entry(self) -> None:
        one = self._random_entry()
        changes = {"title": self._title(), "slug": self._rng.choice(SLUGS)}
        if one["type"] == "posts":
            changes["stage"] = self._rng.choice(["writing", "review"])
        chosen = {name: value for name, value in changes.items() if self._rng.random() < 0.3}
        await self.edit(one["id"], **chosen, fields=self._fields(one["type"]))

    async def _set_status(self) -> None:
        await self.edit(self._random_entry()["id"], status=self._rng.choice(STATUSES))

    async def _translate(self) -> None:
        one = self._random_entry()
        locale = self._rng.choice([code for code in LOCALES if code != one["language"]])
        texts: dict[str, Any] = {"title": self._rng.choice([None, "", self._text()])}
        texts["fields"] = {"body": self._rng.choice([None, "", self._text()])}
        await self.edit(one["id"], texts={locale: texts})

    async def _delete_random_entry(self) -> None:
        await self.delete(self._random_entry()["id"])

    async def _revise(self) -> None:
        here = sorted(self.reference.types[PLACE])
        fields = self._rng.choice(NOTES)
        await self.revise_type(PLACE, here.index("notes"), _definition(fields, []))

    async def _file(self) -> None:
        number = self._rng.randrange(9)
        await self.file(self._rng.choice(FILES), None if number > 5 else str(number))

    async def _replace_flyers(self) -> None:
        """Replaces the type with another one that has the same slug."""
        here = sorted(self.reference.types[PLACE])
        await self.remove_type(PLACE, here.index("flyers"), emptied=True)
        Clock.time += self._rng.choice(STEPS)
        await self.create_type(PLACE, "flyers", _definition([NOTE, COVER], []))

    def _random_entry(self) -> dict[str, Any]:
        return self._rng.choice([*self.reference.of(PLACE)])

    def _random_properties(self) -> dict[str, Any]:
        rng = self._rng
        return {
            "title": self._title(),
            "slug": rng.choice(SLUGS),
            "language": rng.choice([*LANGUAGES, "en-US", "en-US"]),
            "status": rng.choice(STATUSES),
        }

    def _title(self) -> str:
        return self._rng.choice([self._text(), self._text(), self._rng.choice(TEXTS)])

    def _text(self) -> str:
        return " ".join(self._rng.choices(WORDS, k=self._rng.randint(1, 3))).capitalize()

    def _fields(self, type_slug: str) -> dict[str, Any]:
        """Random values for some of the type's fields, with references to existing entries and
        files."""
        rng = self._rng
        known = self.reference.types[PLACE][type_slug]["fields"]
        authors, others = self.existing("authors"), self.existing()
        arguments = {
            **{slug: msgspec.json.decode(text) for slug, text in random_values(rng).items()},
            "body": " ".join([self._text(), self._text().lower()]),
            "note": self._text(),
            "cover": rng.choice([*self._files(), None]),
            "photo": self._files() or None,
            "about": rng.choice([*others, None]),
            "friend": rng.choice([*authors, None]),
            "author": rng.choice([*authors, None]),
            "related": rng.choices(others, k=rng.randrange(4)) if others else [],
        }
        kept = {field["slug"] for field in known if rng.random() < 0.8}
        return {slug: value for slug, value in arguments.items() if slug in kept}

    def _files(self) -> list[str]:
        return sorted(self.reference.workspaces[PLACE[0]]["media"] & {*FILES})


def _definition(fields: list[dict[str, Any]], stages: list[str]) -> dict[str, Any]:
    return {"name": "Type", "fields": fields, "stages": stages}
