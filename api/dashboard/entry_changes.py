"""The history of an entry: its changes, and two of its versions compared."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.table_pages import number
from api.dashboard.values import has_markup, plain, readable, reference_names, with_names
from api.dashboard.word_diff import Span, excerpt, word_diff
from api.errors import BadRequest
from read_side.entry_details import EntryDetails
from write_side.domain.definition import Field, Stage
from write_side.domain.entry_changes import Change, FieldChange, differences
from write_side.domain.refusals import shortened
from write_side.entry_history import HistoryRequest, entry_versions, histories

CHANGES = 20
MAX_DIFFERENCES = 100
"""Differences shown of one change. Translations into many languages have thousands."""
MAX_LENGTH = 400
"""Characters of a value in the history."""
MAX_DECODED = 4_000
"""Bytes of a value in the history; the beginning of a longer one is shown as stored."""
MIN_COMPARED = 40
"""Characters from which a text's words are compared; of a shorter text both versions are shown."""
MAX_COMPARED = 10_000
"""Characters of a text that are compared."""
MAX_COMPARED_IN_ALL = 400_000
"""Total characters that are compared for one page."""
_NAMES = {"title": "Title", "slug": "Slug", "status": "Status", "stage": "Stage"}


class FieldDifference(Struct, frozen=True):
    """``before`` and ``after`` are text, None for no value. ``locale``: of a translation.
    ``language``: of the text, "" if it is not in a language.
    ``spans``: what changed within a long text, instead of both texts; ``note`` says what they
    omit."""

    name: str
    locale: str
    language: str
    before: str | None
    after: str | None
    spans: Sequence[Span] = ()
    note: str = ""


class ShownChange(Struct, frozen=True):
    change: Change
    differences: list[FieldDifference]


class Comparison(Struct, frozen=True):
    """The differences of version ``after`` from ``before``; ``total`` counts all, of which the
    first are shown."""

    before: int
    after: int
    differences: list[FieldDifference]
    total: int


async def entry_changes(
    request: DashboardRequest, details: EntryDetails, stages: Sequence[Stage], locale: str
) -> list[ShownChange]:
    """From the log, which can be ahead of the fields shown; for a past version, without later
    changes."""
    before = number(request.query.get("before", ""))
    if request.query.get("asOf"):
        latest = details.version + 1
        before = latest if before is None else min(before, latest)
    history_request = HistoryRequest(details.entry.id, limit=CHANGES, before=before)
    [changes] = await histories(request.repository, request.scope, [history_request])
    shown = [change.fields[:MAX_DIFFERENCES] for change in changes]
    reader = await _difference_reader(request, details, stages, locale, shown)
    read = [await asyncio.to_thread(reader.read, fields) for fields in shown]
    return [ShownChange(*each) for each in zip(changes, read, strict=True)]


async def requested_comparison(
    request: DashboardRequest, details: EntryDetails, stages: Sequence[Stage], locale: str
) -> Comparison | None:
    """None if the URL requests none. Raises BadRequest, UnknownVersion."""
    if "compare" not in request.query:
        return None
    before = number(request.query["compare"])
    after = number(request.query.get("with", "")) or details.version
    if not before:
        raise BadRequest("Enter the numbers of two versions to compare")
    versions = await entry_versions(
        request.repository, request.scope, details.entry.id, {before, after}
    )
    found = tuple(differences(versions[before], versions[after]))
    shown = found[:MAX_DIFFERENCES]
    reader = await _difference_reader(request, details, stages, locale, [shown])
    read = await asyncio.to_thread(reader.read, shown)
    return Comparison(before, after, read, len(found))


async def _difference_reader(
    request: DashboardRequest,
    details: EntryDetails,
    stages: Iterable[Stage],
    locale: str,
    changes: Iterable[Iterable[FieldChange]],
) -> _DifferenceReader:
    fields = {field.slug: field for field in details.definition}
    names = await reference_names(request, _references(changes, fields), locale)
    stage_names = {stage.id: stage.name for stage in stages}
    return _DifferenceReader(fields, stage_names, names, details.entry.language)


def _references(
    changes: Iterable[Iterable[FieldChange]], fields: Mapping[str, Field]
) -> Iterator[tuple[Field, Raw]]:
    """The values of fields before and after, each with its field."""
    for change in changes:
        for one in change:
            path, _ = _path_and_locale(one)
            field = fields.get(path.removeprefix("fields."))
            if field is not None and path not in _NAMES and not _is_long(one):
                yield from ((field, one.before), (field, one.after))


class _DifferenceReader(Struct):
    """Comparing texts takes up to 20 ms each, so call ``read`` in a thread.

    Fields and stages that were removed are shown by slug or id. ``names``: of referenced entries
    and media, by id. ``language``: of the entry."""

    fields: Mapping[str, Field]
    stages: Mapping[str, str]
    names: Mapping[str, str]
    language: str
    left: int = MAX_COMPARED_IN_ALL
    """Characters that may still be compared."""

    def read(self, changes: Iterable[FieldChange]) -> list[FieldDifference]:
        return [self._difference(change) for change in changes]

    def _difference(self, change: FieldChange) -> FieldDifference:
        path, locale = _path_and_locale(change)
        slug = path.removeprefix("fields.")
        field = None if path in _NAMES else self.fields.get(slug)
        name = _NAMES.get(path, field.name if field else slug)
        is_prose = path == "title" or (field is not None and field.spec.translatable)
        language = (locale or self.language) if is_prose else ""
        if _is_text(change):
            compared = self._compared(name, locale, language, change)
            if compared is not None:
                return compared
        before, after = _text(change.before), _text(change.after)
        if path == "stage":
            before, after = (stage and self.stages.get(stage, stage) for stage in (before, after))
        if field is not None and field.spec.refers_to and not _is_long(change):
            before = shortened(with_names(change.before, self.names), MAX_LENGTH) or before
            after = shortened(with_names(change.after, self.names), MAX_LENGTH) or after
        return FieldDifference(name, locale, language, before, after)

    def _compared(
        self, name: str, locale: str, language: str, change: FieldChange
    ) -> FieldDifference | None:
        """None if the texts are short or too many."""
        given = [msgspec.json.decode(text, type=str) for text in (change.before, change.after)]
        size = sum(min(len(text), MAX_COMPARED) for text in given)
        if max(map(len, given)) < MIN_COMPARED or size > self.left:
            return None
        self.left -= size
        compared = [text[:MAX_COMPARED] for text in given]
        before, after = map(_without_markup, compared)
        spans = excerpt(word_diff(before, after))
        note = "Only the markup changed" if before == after else ""
        if compared[0] == compared[1]:
            note = f"Changed after the first {MAX_COMPARED:,} characters"
        return FieldDifference(name, locale, language, before, after, spans, note)


def _without_markup(text: str) -> str:
    return plain(text) if has_markup(text) else text


def _path_and_locale(change: FieldChange) -> tuple[str, str]:
    if not change.field.startswith("translations."):
        return change.field, ""
    _, locale, path = change.field.split(".", 2)
    return path, locale


def _is_text(change: FieldChange) -> bool:
    """Whether there is a text before and after."""
    ends = (bytes(change.before), bytes(change.after))
    return all(end.startswith(b'"') and end != b'""' for end in ends)


def _text(value: Raw) -> str | None:
    """A string as it is, any other value as JSON."""
    raw = bytes(value)
    if raw in (b"null", b'""'):
        return None
    if len(raw) > MAX_DECODED or not raw.startswith(b'"'):
        return shortened(readable(raw[:MAX_DECODED].decode(errors="ignore")), MAX_LENGTH)
    return shortened(_without_markup(msgspec.json.decode(raw, type=str)), MAX_LENGTH)


def _is_long(change: FieldChange) -> bool:
    return max(len(bytes(change.before)), len(bytes(change.after))) > MAX_DECODED
