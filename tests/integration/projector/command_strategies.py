"""Hypothesis strategies for commands: few values of each kind, so that commands affect the same
things."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.integration.projector.reference_model import Place
from write_side.domain.field_types import FIELD_TYPES

WORKSPACES = ("acme", "other")
ENVIRONMENTS = ("production", "staging")
PLACES: list[Place] = [(one, other) for one in WORKSPACES for other in ENVIRONMENTS]
TYPES = ("posts", "pages", "people")
LANGUAGES = ("en-US", "sv-SE")
LOCALES = ("en-US", "sv-SE", "fr-FR", "zh-TW")
STATUSES = ("draft", "published", "archived")
MEDIA = ("logo", "photo")
TITLES = ("Hello, World!", "Ünï ✓ ½", "Title", "title")
SLUGS = ("one", "two", "three", "a/b ü", "title")
HARD_TEXTS = (
    "&#" + 5_000 * "9" + ";",
    "a" + 300 * "\u0301\u0316",
    300 * "\ufdf2",
    300 * "\U00010400" + "ing",
    "<script><!--<a ",
    "\\N\t\r\n\x01\x7f\u2028\uffff'\":*&|!()",
    "ไทย日本語\u202e\u200dİſ",
)
"""Texts that are hard to split into words, to compare or to store."""
DrawnCommand = tuple[str, dict[str, Any]]
"""The kind of command, and its parameters."""
NEW = "new"
"""A slug that no other entry has."""
Beginning = tuple[Place, dict[str, Any], list[dict[str, Any]]]
ELSEWHERE = 12
"""From this number on, a number refers to an entry of any workspace and environment, deleted or
not."""

_INNER = {"slug": "q", "type": "text"}
_RANK = {"slug": "rank", "type": "number"}
_WHO = {"slug": "who", "type": "reference", "required": True}
_NOTES = {"slug": "notes", "type": "repeater", "fields": [{"slug": "note", "type": "rich_text"}]}
_FIELDS: list[dict[str, Any]] = [
    {"slug": "body", "type": "text"},
    {"slug": "body", "type": "text", "required": True},
    {"slug": "lead", "type": "rich_text"},
    {"slug": "views", "type": "number"},
    {"slug": "open", "type": "boolean"},
    {"slug": "when", "type": "datetime"},
    {"slug": "span", "type": "datetime", "range": True},
    {"slug": "any", "type": "json"},
    {"slug": "mood", "type": "select", "options": ["good", "bad"]},
    {"slug": "mood", "type": "select", "options": ["good", "odd"]},
    {"slug": "moods", "type": "select", "multiple": True, "options": ["good", "bad"]},
    {"slug": "cover", "type": "media"},
    {"slug": "author", "type": "reference", "to": ["posts", "people"]},
    {"slug": "related", "type": "reference", "multiple": True},
    {"slug": "faq", "type": "repeater", "fields": [_INNER, _RANK]},
    {"slug": "faq", "type": "repeater", "fields": [_NOTES, _INNER, _WHO]},
    {"slug": "faq", "type": "repeater", "fields": [{**_INNER, "required": True}]},
    {"slug": "layout", "type": "section"},
    {"slug": "lead", "type": "number"},
    {"slug": "related", "type": "reference"},
]
_FIELDS += [
    {**field, "indexed": True}
    for field in _FIELDS
    if "indexed" in FIELD_TYPES[field["type"]].settings
]
_FIELDS += [
    {**field, "searchable": True}
    for field in _FIELDS
    if "searchable" in FIELD_TYPES[field["type"]].settings
]
_STAGES: tuple[list[str], ...] = ([], ["writing"], ["writing", "review"], ["review", "writing"])

_texts = st.sampled_from(["Text", "More text", "Ünï ✓", "", None]) | st.sampled_from(HARD_TEXTS)
_numbers = st.sampled_from(range(ELSEWHERE + 2))
_living = st.sampled_from(range(ELSEWHERE))
_workspaces = st.sampled_from(WORKSPACES)
_media = st.sampled_from(MEDIA)
_titles = st.sampled_from((*TITLES, *TITLES, *HARD_TEXTS[2:6]))
_slugs = st.sampled_from(SLUGS)
_statuses = st.sampled_from(STATUSES)
_histories = st.lists(_statuses, min_size=3, max_size=5)
locales = st.sampled_from(LOCALES)
places = st.sampled_from(PLACES)

_definitions = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["Posts", "Renamed"]),
        "fields": st.lists(
            st.sampled_from(_FIELDS), min_size=3, max_size=9, unique_by=lambda one: one["slug"]
        ),
        "stages": st.sampled_from(_STAGES),
    }
)
_elements = st.fixed_dictionaries(
    {},
    optional={
        "q": _texts,
        "rank": st.sampled_from([1, 2.5, None]),
        "who": _living,
        "notes": st.lists(st.fixed_dictionaries({}, optional={"note": _texts}), max_size=2)
        | st.none(),
    },
)
# A reference is drawn as the number of an entry.
_values = st.fixed_dictionaries(
    {},
    optional={
        "body": _texts,
        "lead": _texts,
        "views": st.sampled_from([0, 1, 1.0, -2.5, -0.0, 5e-324, 1e308, None]),
        "open": st.booleans(),
        "when": st.sampled_from(
            [
                "2026-01-31",
                "2026-01-31T09:30:00+02:00",
                "0001-01-01T00:00:00+23:59",
                "9999-12-31T23:59:59.999999999-23:59",
            ]
        ),
        "span": st.just({"from": "2026-01-31", "to": "2026-02-01T00:00:00Z"}),
        "any": st.sampled_from([{"b": 1, "a": [None]}, "", [], 7, None]),
        "mood": st.just("good"),
        "moods": st.lists(st.just("bad"), max_size=2),
        "author": _living,
        "related": st.lists(_living, max_size=2),
        "faq": st.lists(_elements, min_size=1, max_size=2),
    },
)
# Of the wrong type for most fields of that slug, or refused by some versions of a content type.
_odd_values = st.sampled_from(
    [
        {"body": 7},
        {"body": None},
        {"views": "7"},
        {"views": True},
        {"open": "true"},
        {"span": "2026-01-31"},
        {"faq": [{"who": ELSEWHERE + 3}]},
        {"mood": "bad"},
        {"mood": "odd"},
        {"moods": "bad"},
        {"cover": "logo"},
        {"cover": "photo"},
        {"faq": {"q": "no list"}},
        {"faq": [{"q": 7}]},
        {"faq": [{"q": "Text", "notes": [{"note": 7}]}]},
        {"related": "no id"},
        {"related": [ELSEWHERE]},
        {"author": ELSEWHERE + 3},
        {"unknown": 7},
    ]
)
_translation = st.fixed_dictionaries(
    {
        "title": st.sampled_from([None, "", "Titre", "Rubrik"]),
        "fields": st.fixed_dictionaries(
            {},
            optional={
                "body": _texts,
                "lead": _texts,
                "faq": st.lists(_elements, min_size=1, max_size=2),
                "views": st.just(7),
            },
        ),
    }
)
_translations = st.dictionaries(st.sampled_from(LOCALES[1:]), _translation, max_size=2)
_entries = st.fixed_dictionaries(
    {
        "title": _titles,
        "slug": st.sampled_from([*[NEW] * 9, None, "", *SLUGS]),
        "language": st.sampled_from(("en-US", "en-US", "sv-SE")),
        "status": _statuses,
        "fields": _values,
        "texts": _translations,
    }
)
_several = st.lists(_entries, min_size=2, max_size=4)
_changes = st.fixed_dictionaries(
    {"fields": _values},
    optional={
        "title": _titles,
        "slug": _slugs,
        "status": _statuses,
        "stage": st.sampled_from(["writing", "review"]),
        "texts": _translations,
    },
)
_plans = st.fixed_dictionaries(
    {
        "entries": st.sampled_from([None, 0, 3, 6]),
        "content_types": st.sampled_from([None, None, 2]),
        "staging": st.sampled_from([True, True, False]),
    }
)


def _drawn(name: str, **properties: st.SearchStrategy[Any]) -> st.SearchStrategy[DrawnCommand]:
    return st.tuples(st.just(name), st.fixed_dictionaries(properties))


def _only(**properties: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A change that contains nothing else."""
    return st.fixed_dictionaries({"fields": st.just({}), **properties})


_CREATE = _drawn("create_entry", place=places, number=_numbers, new=_entries)
_UPDATE = _drawn("update_entry", place=places, number=_numbers, changes=_changes)
_DEEDS = (
    *[_CREATE] * 5,
    *[_UPDATE] * 4,
    _drawn("create_oddly", place=places, number=_numbers, new=_entries, values=_odd_values),
    _drawn(
        "import_entries",
        place=places,
        number=_numbers,
        rows=_several,
    ),
    _drawn(
        "update_entry",
        place=places,
        number=_numbers,
        changes=st.fixed_dictionaries({"fields": _odd_values}),
    ),
    *[
        _drawn("update_entry", place=places, number=_numbers, changes=_only(**{what: strategy}))
        for what, strategy in (
            ("status", _statuses),
            ("stage", st.sampled_from(["writing", "review"])),
            ("texts", st.dictionaries(locales, _translation, min_size=1, max_size=1)),
        )
    ],
    _drawn("status_changes", place=places, number=_living, statuses=_histories),
    _drawn("slugs_change_hands", place=places, number=_living),
    *[_drawn("delete_entry", place=places, number=_numbers)] * 2,
    _drawn("replace_entry", place=places, number=_living, new=_entries),
    _drawn("create_type", place=places, slug=st.sampled_from(TYPES), definition=_definitions),
    *[_drawn("revise_type", place=places, number=_numbers, definition=_definitions)] * 2,
    _drawn("remove_type", place=places, number=_numbers, emptied=st.booleans()),
    _drawn("change_plan", workspace=_workspaces, plan=_plans),
    _drawn("put_media", workspace=_workspaces, media_id=_media),
    _drawn("remove_media", workspace=_workspaces, media_id=_media),
    *[_drawn("time_passes", seconds=st.sampled_from([0.001, 60, -0.002]))] * 2,
)
batches = st.lists(st.integers(1, 9), min_size=1, max_size=3)
renderings = st.integers(0, 3)
statements = st.sampled_from(range(6, 40))


@st.composite
def beginnings(draw: st.DrawFn) -> list[Beginning]:
    """A content type for each place, with entries."""
    return [(place, draw(_definitions), draw(_several)) for place in PLACES]


@st.composite
def revisions(draw: st.DrawFn) -> list[DrawnCommand]:
    """Revisions of the first content type of each place."""
    return [
        ("revise_type", {"place": place, "number": 0, "definition": draw(_definitions)})
        for place in PLACES
    ]


@st.composite
def commands(draw: st.DrawFn) -> list[DrawnCommand]:
    return draw(st.lists(st.one_of(_DEEDS), min_size=6, max_size=15))
