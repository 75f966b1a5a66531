"""A reference model of the service in plain dicts and loops, after behaviour.md. It is slow, and
short enough to be checked against that page by reading. It shares no code with the service. A
refused command raises ``ExpectedRefusal``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tests.integration.projector.reference_entries import (
    Entry,
    Type,
    content_of,
    missing_fields,
    newest_first,
    published,
    slug_of,
    stage_of,
    translate,
)
from tests.integration.projector.reference_history import StateHistory
from tests.integration.projector.reference_values import (
    ExpectedRefusal,
    Field,
    Values,
    accepted,
    kinds,
    shown,
    targets,
    translatable,
    translated,
)

Place = tuple[str, str]
"""Workspace and environment."""


class ReferenceModel:
    def __init__(self) -> None:
        self.workspaces: dict[str, dict[str, Any]] = {}
        self.types: dict[Place, dict[str, Type]] = {}
        self.entries: list[Entry] = []
        """In the order of the log."""
        self.past = StateHistory()

    # Workspaces: see 'Plans' in behaviour.md

    def create_workspace(self, workspace: str, plan: dict[str, Any]) -> None:
        self.workspaces[workspace] = {"plan": plan, "media": set()}
        self.types[workspace, "production"] = {}

    def change_plan(self, workspace: str, plan: dict[str, Any]) -> None:
        self.workspaces[workspace]["plan"] = plan

    def add_environment(self, place: Place) -> None:
        if place in self.types:
            return
        if not self.workspaces[place[0]]["plan"]["staging"]:
            raise ExpectedRefusal(402)
        self.types[place] = {}

    def put_media(self, workspace: str, media_id: str) -> None:
        self.workspaces[workspace]["media"].add(media_id)

    def remove_media(self, workspace: str, media_id: str) -> None:
        self.workspaces[workspace]["media"].discard(media_id)

    def _check_limit(self, place: Place, what: str, used: int) -> None:
        limit = self.workspaces[place[0]]["plan"][what]
        if limit is not None and used > limit:
            raise ExpectedRefusal(402)

    # Content types

    def create_type(
        self,
        at: datetime,
        place: Place,
        slug: str,
        name: str,
        fields: list[Field],
        stages: list[str],
    ) -> None:
        if place[1] == "staging" and not self.workspaces[place[0]]["plan"]["staging"]:
            raise ExpectedRefusal(402)
        if place not in self.types:
            raise ExpectedRefusal(404)
        if slug in self.types[place]:
            raise ExpectedRefusal(409)
        self._check_limit(place, "content_types", len(self.types[place]) + 1)
        type_ = {
            "what": "type",
            "object_id": self.past.next_object_id(),
            "place": place,
            "slug": slug,
            "name": name,
            "fields": fields,
            "stages": stages,
            "kinds": kinds(fields),
            "updated": at,
        }
        self.types[place][slug] = type_
        self.past.record(at, type_["object_id"], type_)

    def revise_type(
        self,
        at: datetime,
        place: Place,
        slug: str,
        name: str,
        fields: list[Field],
        stages: list[str],
    ) -> None:
        known = self.type(place, slug)
        for path, kind in kinds(fields).items():
            if known["kinds"].get(path, kind) != kind:
                raise ExpectedRefusal(400)
        definition = {"name": name, "fields": fields, "stages": stages}
        if all(known[what] == given for what, given in definition.items()):
            return
        known.update(definition, updated=max(at, known["updated"]))
        known["kinds"] |= kinds(fields)
        self.past.record(known["updated"], known["object_id"], known)

    def remove_type(self, at: datetime, place: Place, slug: str) -> None:
        known = self.type(place, slug)
        if any(self.of(place, slug)):
            raise ExpectedRefusal(409)
        del self.types[place][slug]
        self.past.record(max(at, known["updated"]), known["object_id"], None)

    def type(self, place: Place, slug: str) -> Type:
        if slug not in self.types.get(place, {}):
            raise ExpectedRefusal(404)
        return self.types[place][slug]

    # Entries: see 'Slugs' and 'Field values' in behaviour.md

    def create_entry(self, at: datetime, place: Place, type_slug: str, new: Entry) -> None:
        self._create(at, place, type_slug, [new], coming=[])

    def import_entries(self, at: datetime, place: Place, type_slug: str, new: list[Entry]) -> None:
        """All of them or none; they may refer to one another."""
        self._create(at, place, type_slug, new, coming=new)

    def _create(
        self, at: datetime, place: Place, type_slug: str, new: list[Entry], coming: list[Entry]
    ) -> None:
        """Refusals in their order: values, then slugs, then the plan."""
        type_ = self.type(place, type_slug)
        made = [self._made(at, place, type_slug, type_, one) for one in new]
        types = {one["id"]: type_slug for one in coming}
        for entry in made:
            self._check_targets(place, type_, entry["fields"], coming=types)
        before = list(self.entries)
        for entry in made:
            if self._taken(entry, entry["slug"], before):
                raise ExpectedRefusal(409)
            before.append(entry)
        self._check_limit(place, "entries", sum(entry["place"] == place for entry in before))
        self.entries = before
        for entry in made:
            self.past.record(at, entry["id"], entry)

    def _made(self, at: datetime, place: Place, type_slug: str, type_: Type, new: Entry) -> Entry:
        fields = accepted(type_["fields"], new["fields"])
        entry = {
            "what": "entry",
            "id": new["id"],
            "version": 1,
            "place": place,
            "type": type_slug,
            "type_object_id": type_["object_id"],
            "title": new["title"],
            "slug": new["slug"] or slug_of(new["title"]),
            "language": new["language"],
            "status": new["status"],
            "stage": type_["stages"][0] if type_["stages"] else None,
            "fields": fields,
            "texts": {},
            "created": at,
            "updated": at,
            "published": at if new["status"] == "published" else None,
        }
        for locale, texts in new["texts"].items():
            translate(entry, type_, locale, texts)
        if not entry["title"] or (entry["status"] == "published" and missing_fields(type_, fields)):
            raise ExpectedRefusal(400)
        return entry

    def update_entry(self, at: datetime, place: Place, entry_id: str, changes: Entry) -> None:
        """Changes the members that are given: title, slug, status, stage, fields, texts by
        locale."""
        entry = self.entry(place, entry_id)
        if changes.get("expected") not in (None, entry["version"]):
            raise ExpectedRefusal(409)
        type_ = self.type(place, entry["type"])
        before = content_of(entry)
        after = {**entry, "texts": {code: dict(of) for code, of in entry["texts"].items()}}
        after["fields"] = {**entry["fields"], **accepted(type_["fields"], changes["fields"])}
        self._check_targets(place, type_, accepted(type_["fields"], changes["fields"]), entry)
        for what in ("title", "slug", "status", "stage"):
            after[what] = changes.get(what, entry[what])
        for locale, texts in changes.get("texts", {}).items():
            translate(after, type_, locale, texts)
        if not after["title"] or not after["slug"]:
            raise ExpectedRefusal(400)
        if changes.get("stage") is not None and changes["stage"] not in type_["stages"]:
            raise ExpectedRefusal(400)
        if entry["stage"] is None and after["stage"] in type_["stages"][:1]:
            after["stage"] = None  # the content is the same already
        if after["status"] == "published":
            lacked = (
                missing_fields(type_, entry["fields"]) if entry["status"] == "published" else []
            )
            if set(missing_fields(type_, after["fields"])) - set(lacked):
                raise ExpectedRefusal(400)
        if self._taken(entry, after["slug"], self.entries):
            raise ExpectedRefusal(409)
        if content_of(after) == before:
            return
        after["updated"] = max(at, entry["updated"])
        after["published"] = published(entry, after["status"], after["updated"])
        entry.update(after, version=entry["version"] + 1)
        self.past.record(entry["updated"], entry["id"], entry)

    def delete_entry(self, at: datetime, place: Place, entry_id: str) -> None:
        entry = self.entry(place, entry_id)
        self.entries.remove(entry)
        self.past.record(max(at, entry["updated"]), entry_id, None)

    def entry(self, place: Place, entry_id: str) -> Entry:
        for entry in self.entries:
            if (entry["place"], entry["id"]) == (place, entry_id):
                return entry
        raise ExpectedRefusal(404)

    def _taken(self, by: Entry, slug: str, entries: list[Entry]) -> bool:
        """Slugs are unique within workspace, environment, content type and language."""
        return any(
            (other["place"], other["type"], other["language"], other["slug"])
            == (by["place"], by["type"], by["language"], slug)
            and other["id"] != by["id"]
            for other in entries
        )

    def _check_targets(
        self,
        place: Place,
        type_: Type,
        fields: Values,
        holder: Entry | None = None,
        coming: dict[str, str] | None = None,
    ) -> None:
        """References that the entry already has are accepted, even if their targets are gone."""
        held = [found[1:] for found in targets(type_["fields"], holder["fields"] if holder else {})]
        living = {one["id"]: one["type"] for one in self.entries if one["place"] == place}
        living |= coming or {}
        for field, path, target in targets(type_["fields"], fields):
            if (path, target) in held:
                continue
            if field["type"] == "media":
                if target not in self.workspaces[place[0]]["media"]:
                    raise ExpectedRefusal(400)
            elif target not in living or living[target] not in field.get("to", [living[target]]):
                raise ExpectedRefusal(400)

    # Reads

    def of(self, place: Place, type_slug: str | None = None) -> Iterator[Entry]:
        return (
            entry
            for entry in self.entries
            if entry["place"] == place and type_slug in (None, entry["type"])
        )

    def list_of_type(
        self, place: Place, type_slug: str, status: str, language: str, locale: str
    ) -> list[Entry]:
        """§4.1, without pagination."""
        self.type(place, type_slug)
        matching = [
            entry
            for entry in self.of(place, type_slug)
            if (entry["status"], entry["language"]) == (status, language)
        ]
        return [self._seen(entry, locale) for entry in newest_first(matching)]

    def list_across_types(self, place: Place, type_slug: str | None, locale: str) -> list[Entry]:
        """§4.3, without pagination."""
        if type_slug is not None:
            self.type(place, type_slug)
        matching = list(self.of(place, type_slug))
        return [self._seen(entry, locale, typed=True) for entry in newest_first(matching)]

    def one(self, place: Place, type_slug: str, slug: str, language: str, locale: str) -> Entry:
        """§4.2."""
        self.type(place, type_slug)
        for entry in self.of(place, type_slug):
            if (entry["slug"], entry["language"]) == (slug, language):
                return self._seen(entry, locale, typed=True)
        raise ExpectedRefusal(404)

    def one_as_of(
        self, at: datetime, place: Place, type_slug: str, slug: str, language: str, locale: str
    ) -> Entry:
        """§4.2 as of a time."""
        type_ = self.past.entry_at(at, what="type", place=place, slug=type_slug)
        where = {"slug": slug, "language": language, "type_object_id": type_["object_id"]}
        entry = self.past.entry_at(at, what="entry", **where)
        return _seen(entry, type_, locale, typed=True)

    def list_as_of(
        self,
        at: datetime,
        place: Place,
        type_slug: str | None,
        status: str | None,
        language: str | None,
        locale: str,
    ) -> list[Entry]:
        """§4.1 and §4.3 as of a time, without pagination."""
        types = {one["object_id"]: one for one in self.past.existing(at, what="type", place=place)}
        if type_slug is not None and type_slug not in {one["slug"] for one in types.values()}:
            raise ExpectedRefusal(404)
        filters = {"type": type_slug, "status": status, "language": language}
        chosen = {name: value for name, value in filters.items() if value is not None}
        entries = newest_first(self.past.existing(at, what="entry", place=place, **chosen))
        return [_seen(one, types[one["type_object_id"]], locale, typed=True) for one in entries]

    def _seen(self, entry: Entry, locale: str, *, typed: bool = False) -> Entry:
        return _seen(entry, self.types[entry["place"]][entry["type"]], locale, typed=typed)


def _seen(entry: Entry, type_: Type, locale: str, *, typed: bool) -> Entry:
    texts = entry["texts"].get(locale, {"title": None, "fields": {}})
    fields = translated(translatable(type_["fields"]), entry["fields"], texts["fields"])
    return {
        "id": entry["id"],
        "title": texts["title"] or entry["title"],
        "slug": entry["slug"],
        "status": entry["status"],
        "stage": stage_of(entry, type_),
        "language": entry["language"],
        "published": entry["published"],
        "created": entry["created"],
        "updated": entry["updated"],
        "type": (type_["name"], entry["type"]) if typed else (None, None),
        "fields": shown(type_["fields"], fields),
    }
