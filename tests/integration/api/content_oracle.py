"""The expected lists and single entries at any moment, computed in plain loops from a reference
model: filters, search, sorting, selected members and included references."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from api.rest.wire import timestamp
from read_side.queries.request import EntryQuery, Filter, SortKey
from tests.integration.api.random_history import PLACE, STEMS
from tests.integration.projector.reference_entries import Entry, Type, stage_of
from tests.integration.projector.reference_model import ReferenceModel
from tests.integration.projector.reference_values import shown, translatable, translated
from tests.integration.read_side.query_oracle import Known, expected, value_of

STEMMED = ("en-US", "fr-FR")
LISTED = (
    *("id", "title", "slug", "status", "stage", "language", "locale", "publishedAt"),
    *("createdAt", "updatedAt", "fields"),
)
SINGLE = (*LISTED[:-1], "contentType", "fields")
ANY = tuple(name for name in SINGLE if name != "language")
"""Members of an entry in the list of a type, in a single read, and in the list across types."""


class Question(Struct, frozen=True, kw_only=True):
    """``type_slug``, ``status``, ``language``: None selects all. ``across``: over REST, read the
    list across types, which has no status or language filter. ``words``: search terms. ``as_of``:
    None reads the present."""

    type_slug: str | None
    across: bool
    status: str | None
    language: str | None
    locale: str
    environment: str = PLACE[1]
    filters: tuple[Filter, ...] = ()
    sort: tuple[SortKey, ...] = ()
    words: tuple[str, ...] = ()
    limit: int = 10
    offset: int = 0
    has_cursor: bool = False
    counted: bool = True
    as_of: datetime | None = None
    select: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    published_only: bool = False

    @property
    def paths(self) -> set[str]:
        """The fields used by filters and sort keys."""
        return {one.field for one in self.filters} | {one.field for one in self.sort}

    @property
    def custom(self) -> bool:
        """Whether filters or sort keys use fields of the type."""
        return any(path.startswith("fields.") for path in self.paths)


class ContentSnapshot:
    """The content that a question asks about: of its environment at its moment.

    ``types`` are keyed by slug, ``entries`` are oldest first, and ``media`` is as in responses.
    """

    def __init__(self, reference: ReferenceModel, question: Question) -> None:
        until = question.as_of or datetime.max.replace(tzinfo=UTC)
        place = (PLACE[0], question.environment)
        past = reference.past
        self.locale = question.locale
        self.types: dict[str, Type] = {
            one["slug"]: one for one in past.existing(until, what="type", place=place)
        }
        self.entries: list[Entry] = past.existing(until, what="entry", place=place)
        self.media = {
            one["shown"]["id"]: one["shown"] for one in past.existing(until, what="media")
        }
        self.by_id = {one["id"]: one for one in self.entries}
        changed = {object_id for then, object_id, _ in past.states if then > until}
        self.has_changed = {slug for slug, one in self.types.items() if one["object_id"] in changed}
        """Slugs of the types that were revised or removed after the moment."""

    def matches(self, question: Question) -> list[Entry]:
        """All matches in order. A search without sort keys is returned newest first."""
        query = EntryQuery(
            type_slug=question.type_slug,
            status="published" if question.published_only else question.status,
            language=question.language,
            filters=question.filters,
            sort=question.sort,
            limit=question.limit,
        )
        among = [
            one for one in self.entries if not question.words or self.matches_words(one, question)
        ]
        numbers = {one["id"]: number for number, one in enumerate(self.entries)}
        known = [self._known(one, numbers[one["id"]]) for one in among]
        return [self.by_id[one.id] for one in expected(known, query)]

    def entry(self, question: Question, slug: str) -> Entry | None:
        """The entry with this type, language and slug, if the key may read it."""
        wanted = (question.type_slug, slug, question.language)
        for one in self.entries:
            if (one["type"], one["slug"], one["language"]) == wanted:
                return one if self.is_readable(one["id"], question) else None
        return None

    def can_shape(self, question: Question, page: list[Entry]) -> bool:
        """Whether all selected and included fields exist."""
        return self._can_select(question, page) and self._can_include(question, page)

    def _known(self, entry: Entry, position: int) -> Known:
        type_ = self.types[entry["type"]]
        built_in = {
            "title": entry["title"],
            "slug": entry["slug"],
            "stage": stage_of(entry, type_),
            "createdAt": entry["created"],
            "updatedAt": entry["updated"],
            "publishedAt": entry["published"],
        }
        fields = entry["fields"]
        custom = {f"fields.{slug}": value for slug, value in fields.items() if slug != "campaign"}
        span = fields.get("campaign") or {}
        custom |= {f"fields.campaign.{end}": time for end, time in span.items()}
        values = {path: one for path, one in {**built_in, **custom}.items() if one is not None}
        of = (entry["type"], entry["status"], entry["language"])
        return Known(entry["id"], position, *of, values)

    def sort_values(self, entry: Entry, question: Question) -> list[Any]:
        known = self._known(entry, 0)
        return [value_of(known, key.field) for key in question.sort]

    def matches_words(self, entry: Entry, question: Question, *, in_title: bool = False) -> bool:
        """Whether the text in the locale contains every word. The last word may be a prefix."""
        *whole, last = question.words
        title, body, language = self.text_of(entry)
        words = {*title} if in_title else {*title, *body}
        stems = STEMS if language in STEMMED else {}

        def has(word: str) -> bool:
            return stems.get(word, word) in {stems.get(one, one) for one in words}

        return all(map(has, whole)) and (has(last) or any(one.startswith(last) for one in words))

    def text_of(self, entry: Entry) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        """The words of the title, the words of the searchable fields, and the language of both."""
        texts = entry["texts"].get(self.locale, {"title": None, "fields": {}})
        values = self._values(entry)
        searchable = [
            field["slug"]
            for field in self.types[entry["type"]]["fields"]
            if field.get("searchable")
        ]
        body = " ".join(values.get(slug) or "" for slug in searchable)
        title = texts["title"] or entry["title"]
        language = self.locale if self.locale in entry["texts"] else entry["language"]
        return tuple(title.lower().split()), tuple(body.lower().split()), language

    def _values(self, entry: Entry) -> dict[str, Any]:
        """The field values in the locale."""
        fields = translatable(self.types[entry["type"]]["fields"])
        texts = entry["texts"].get(self.locale, {"fields": {}})
        return translated(fields, entry["fields"], texts["fields"])

    def served(self, entry: Entry, members: tuple[str, ...]) -> dict[str, Any]:
        """The entry as in responses, except for the id of its content type."""
        type_ = self.types[entry["type"]]
        texts = entry["texts"].get(self.locale, {"title": None})
        stage = stage_of(entry, type_)
        published = entry["published"]
        whole = {
            "id": entry["id"],
            "title": texts["title"] or entry["title"],
            "slug": entry["slug"],
            "status": entry["status"],
            "stage": stage and {"id": stage, "name": stage.title()},
            "language": entry["language"],
            "locale": self.locale,
            "publishedAt": published and timestamp(published),
            "createdAt": timestamp(entry["created"]),
            "updatedAt": timestamp(entry["updated"]),
            "contentType": {"name": type_["name"], "slug": entry["type"]},
            "fields": dict(shown(type_["fields"], self._values(entry))),
            "version": entry["version"],
        }
        return {name: whole[name] for name in members}

    def selected(
        self, entry: Entry, members: tuple[str, ...], select: tuple[str, ...]
    ) -> dict[str, Any]:
        whole = self.served(entry, members)
        if not select:
            return whole
        named = {name: value for name, value in whole.items() if name in ("id", *select)}
        slugs = {name.removeprefix("fields.") for name in select if name.startswith("fields.")}
        if slugs and "fields" not in named:
            values = whole["fields"].items()
            named["fields"] = {slug: value for slug, value in values if slug in slugs}
        return named

    def included(self, page: list[Entry], question: Question) -> tuple[dict[str, Any], bool]:
        """The entries and media that the include paths reach from the page, and whether each path
        segment is a field of some type reached at that point."""
        entries: dict[str, Any] = {}
        media: dict[str, Any] = {}
        is_known = True
        for path in question.include:
            reached = page
            for slug in path.split("."):
                fields = [self._leading(one["type"], slug) for one in reached]
                is_known &= not fields or any(fields)
                following = []
                for one, field in zip(reached, fields, strict=True):
                    for target in self._targets(one, field):
                        if field["type"] == "media":
                            media |= {target: self.media[target]} if target in self.media else {}
                        elif self.is_readable(target, question):
                            entries[target] = self.served(self.by_id[target], ANY)
                            following.append(self.by_id[target])
                reached = following
        return {"entries": entries, "media": media}, is_known

    def is_readable(self, entry_id: str, question: Question) -> bool:
        entry = self.by_id.get(entry_id)
        return entry is not None and (entry["status"] == "published" or not question.published_only)

    def _leading(self, type_slug: str, slug: str) -> dict[str, Any]:
        for field in self.types[type_slug]["fields"]:
            if field["slug"] == slug and field["type"] in ("reference", "media"):
                return dict(field)
        return {}

    def _targets(self, entry: Entry, field: dict[str, Any]) -> Iterator[str]:
        value = entry["fields"].get(field.get("slug"))
        yield from [] if value is None else [value] if isinstance(value, str) else value

    def references(self, entry: Entry, slug: str, question: Question) -> list[str]:
        """The ids in GraphQL's ``references``."""
        targets = self._targets(entry, self._leading(entry["type"], slug))
        return [one for one in targets if self.is_readable(one, question)]

    def refusals(self, question: Question, page: list[Entry]) -> set[int]:
        """The statuses that REST may refuse the list with, empty if it must succeed. ``page``: the
        page it would return."""
        found = set()
        is_past = question.as_of is not None
        if question.published_only and question.status not in (None, "published"):
            found.add(403)
        if question.type_slug is not None and question.type_slug not in self.types:
            found.add(404)
        if question.custom and (question.across or is_past or self._names_others(question)):
            found.add(400)
        if is_past and (question.words or self._has_other_stages(question)):
            found.add(400)
        if not self.can_shape(question, page):
            found.add(400)
        return found

    def _names_others(self, question: Question) -> bool:
        """Whether filters or sort keys use a field that the type does not have."""
        known = {
            field["slug"] for slug in self._types(question) for field in self.types[slug]["fields"]
        }
        named = {path.split(".")[1] for path in question.paths if path.startswith("fields.")}
        return not named <= known

    def _has_other_stages(self, question: Question) -> bool:
        types = [question.type_slug] if question.type_slug else [*self.types]
        return "stage" in question.paths and any(one in self.has_changed for one in types)

    def _types(self, question: Question) -> list[str]:
        if question.type_slug is None:
            return [*self.types]
        return [question.type_slug] if question.type_slug in self.types else []

    def _can_select(self, question: Question, page: list[Entry]) -> bool:
        types = self._types(question)
        if question.as_of is not None:
            types = [one["type"] for one in page]
        known = {
            field["slug"]
            for slug in types
            for field in self.types[slug]["fields"]
            if field["type"] != "section"
        }
        named = {one.removeprefix("fields.") for one in question.select if "fields." in one}
        return not types or named <= known

    def _can_include(self, question: Question, page: list[Entry]) -> bool:
        if question.as_of is not None:
            return self.included(page, question)[1]
        types = self._types(question)
        return all(self._is_path(path.split("."), types) for path in question.include)

    def _is_path(self, path: list[str], types: list[str]) -> bool:
        fields = [field for slug in types if (field := self._leading(slug, path[0]))]
        if len(path) == 1:
            return bool(fields)
        referring = [field for field in fields if field["type"] == "reference"]
        if not all(field.get("to") for field in referring):
            return bool(referring) and self._is_path(path[1:], [*self.types])
        targets = [slug for field in referring for slug in field["to"]]
        return bool(targets) and self._is_path(path[1:], targets)
