"""Each command on an entry returns events or a refusal."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from tests.unit.samples import (
    AUTHOR,
    AUTHORS,
    ENTRY,
    FAQ,
    NOBODY,
    NOON,
    OPERATOR,
    POSTS,
    SCOPE,
    STAGES,
    TEXT,
    created,
    deleted,
    event_of,
    raws,
    type_created,
    updated,
)
from tests.unit.scenario import Memory, given
from write_side.commands import (
    CreateEntry,
    DeleteEntry,
    UpdateEntry,
)
from write_side.dispatch import HANDLERS
from write_side.domain.definition import Field
from write_side.domain.events import ContentTypeRevised, Event, Translation
from write_side.domain.refusals import (
    InvalidEntry,
    InvalidField,
    InvalidText,
    MissingFields,
    UnknownContentType,
    UnknownEntry,
    UnknownReference,
    VersionConflict,
)

WRITER = Field("writer", "Writer", "reference", to=("authors",))
RELATED = Field("related", "Related", "reference", to=("posts",), multiple=True)
COVER = Field("cover", "Cover", "media")
NEEDED = Field("lead", "Lead", "text", required=True)
LINKS = Field("links", "Links", "repeater", fields=(TEXT, WRITER))
POST_TYPE = type_created(TEXT, WRITER, RELATED, COVER, FAQ, LINKS, stages=STAGES)
AUTHOR_TYPE = type_created(content_type_id=AUTHORS, slug="authors", name="Authors")
ANN = created(entry_id=AUTHOR, content_type_id=AUTHORS, slug="ann", title="Ann")
TYPES = (POST_TYPE, AUTHOR_TYPE, ANN)
MANY = raws(**{f"f{number}": "x" for number in range(10_001)})
LONG = raws(faq=[{"q": "a"}] * 2_000)
OTHER = AUTHOR
TWO_POSTS = (POST_TYPE, created(), created(entry_id=OTHER, slug="other", fields=LONG))
MADE: dict[str, Any] = {"stage_id": "writing"}


def create(**changes: Any) -> CreateEntry:
    made = {"content_type_slug": "posts", "title": "Hello", "entry_id": ENTRY, **changes}
    return CreateEntry(actor=OPERATOR, scope=SCOPE, **made)


def update(entry_id: str = ENTRY, **changes: Any) -> UpdateEntry:
    return UpdateEntry(actor=OPERATOR, scope=SCOPE, entry_id=entry_id, **changes)


def status(wanted: Any) -> UpdateEntry:
    return update(status=wanted)


def translate(locale: str, **texts: Any) -> UpdateEntry:
    return update(translations={locale: Translation(**texts)})


LARGE = [
    create(fields=LONG),
    create(fields=raws(**{f"unknown{number}": 1 for number in range(2_000)})),
    create(translations={"fr-FR": Translation(fields=LONG)}),
    update(fields=LONG),
    update(translations={"fr-FR": Translation(fields=LONG)}),
    update(entry_id=OTHER),
]


@pytest.mark.parametrize("command", LARGE)
async def test_other_tasks_run_while_an_entry_with_many_values_is_decided(
    command: CreateEntry | UpdateEntry,
) -> None:
    turns: list[None] = []
    asyncio.get_running_loop().call_soon(turns.append, None)
    await HANDLERS[type(command)](command, Memory(TWO_POSTS, ()))
    assert turns


@pytest.mark.parametrize("command", LARGE)
async def test_large_commands_of_a_workspace_are_decided_one_at_a_time(
    command: CreateEntry | UpdateEntry,
) -> None:
    repository = Memory(TWO_POSTS, ())
    async with repository.large_commands.turn("another workspace"):
        await HANDLERS[type(command)](command, repository)
        async with repository.large_commands.turn(SCOPE.workspace):
            deciding = asyncio.ensure_future(HANDLERS[type(command)](command, repository))
            done, _ = await asyncio.wait([deciding], timeout=0.1)
            assert not done
        await deciding


async def test_the_values_of_all_translations_are_limited() -> None:
    command = create(translations={"fr-FR": Translation(fields=MANY)})
    with pytest.raises(InvalidEntry, match="10,001 values; the limit is 10,000 for all"):
        await HANDLERS[CreateEntry](command, Memory(TWO_POSTS, ()))


def test_an_update_does_not_read_references_of_fields_that_stay_the_same() -> None:
    before = created(fields={"related": Raw(b"unreadable")})
    given(*TYPES, before).when(update(fields=raws(body="New"))).then(
        updated(fields=raws(body="New"))
    )


def test_a_create_makes_a_draft_in_the_first_stage_with_a_slug_from_its_title() -> None:
    given(*TYPES).when(create(title="Hello, World!", fields=raws(body="a", other=1))).then(
        created(slug="hello--world-", title="Hello, World!", fields=raws(body="a"), **MADE)
    )


def test_an_empty_slug_counts_as_absent_and_a_given_one_is_kept() -> None:
    given(*TYPES).when(create(slug="")).then(created(slug="hello", **MADE))
    given(*TYPES).when(create(slug="My/Slug é")).then(created(slug="My/Slug é", **MADE))


def test_an_entry_of_a_type_without_workflow_has_no_stage() -> None:
    given(*TYPES).when(create(content_type_slug="authors")).then(
        created(content_type_id=AUTHORS, stage_id=None)
    )


def test_a_create_may_set_stage_status_language_and_translations() -> None:
    command = create(
        stage_id="review",
        status="published",
        language="fr-FR",
        translations={"de-DE": Translation("Hallo", raws(body="b", cover="x"))},
    )
    given(*TYPES).when(command).then(
        created(
            stage_id="review",
            status="published",
            language="fr-FR",
            translations={"de-DE": Translation("Hallo", raws(body="b"))},
        )
    )


REFUSED_CREATES: list[tuple[CreateEntry, type[InvalidEntry], str]] = [
    (create(fields=raws(body=1)), InvalidField, "Field 'body' takes a string"),
    (create(fields=raws(writer=NOBODY)), UnknownReference, f"'writer' refers to '{NOBODY}', which"),
    (
        create(fields=raws(writer="x")),
        UnknownReference,
        "which is not in this environment",
    ),
    (
        create(fields=raws(related=[AUTHOR])),
        UnknownReference,
        "an entry of type authors, but takes posts",
    ),
    (
        create(fields=raws(links=[{}, {"writer": NOBODY}])),
        UnknownReference,
        "Field 'links[1].writer' refers to",
    ),
    (create(fields=raws(cover="x")), UnknownReference, "which is not in the media library"),
    (create(title=" \t"), InvalidText, "The title is blank"),
    (create(slug=".."), InvalidText, "The slug '..' cannot be part of a URL"),
    (create(title="a\x00"), InvalidText, "The title contains a NUL"),
    (create(slug="\ud800"), InvalidText, "The slug contains half of a surrogate pair"),
    (
        create(language="english"),
        InvalidEntry,
        "Unsupported language 'english': use a code like",
    ),
    (create(stage_id="done"), InvalidEntry, "has no stage 'done': use writing, review"),
    (
        create(content_type_slug="authors", stage_id="a"),
        InvalidEntry,
        "has no stage 'a': it has no workflow",
    ),
    (create(entry_id="1"), InvalidEntry, "The id '1' of an entry must be a UUID"),
    (create(entry_id=ENTRY.upper()), InvalidEntry, "must be a UUID in lower case"),
    (
        create(translations={"fr": Translation("a")}),
        InvalidEntry,
        "Unsupported locale 'fr': use a code like en-US or fr-FR",
    ),
    (
        create(translations={"en-US": Translation("a")}),
        InvalidEntry,
        "The entry is written in en-US: change its own texts",
    ),
    (create(translations={"fr-FR": Translation("\x00")}), InvalidText, "The translated title"),
    (
        create(translations={"fr-FR": Translation(fields=raws(body=1))}),
        InvalidField,
        "Field 'body' takes a string",
    ),
]


@pytest.mark.parametrize(("command", "refusal", "text"), REFUSED_CREATES)
def test_a_create_is_refused(command: CreateEntry, refusal: type[InvalidEntry], text: str) -> None:
    given(*TYPES).when(command).then_refused(refusal, text)


def test_a_create_in_an_unknown_type_is_refused_before_anything_else() -> None:
    command = create(content_type_slug="nothing", title="", fields=raws(body=1))
    given(*TYPES).when(command).then_refused(UnknownContentType, "Content type not found")


def test_references_and_files_that_exist_are_accepted() -> None:
    values = raws(writer=AUTHOR, cover="hero", links=[{"writer": AUTHOR}])
    given(*TYPES, media=["hero"]).when(create(fields=values)).then(created(fields=values, **MADE))


def test_a_deleted_entry_is_no_target() -> None:
    gone = deleted(entry_id=AUTHOR, content_type_id=AUTHORS)
    given(*TYPES, gone).when(create(fields=raws(writer=AUTHOR))).then_refused(
        UnknownReference, "not in this environment"
    )


@pytest.mark.parametrize(
    "command",
    [
        update(),
        update(title="Hello", slug="hello", status="draft", stage_id="writing"),
        update(fields=raws(body="a", writer=None, nothing=1)),
        update(translations={"fr-FR": Translation("Bonjour", raws(body="corps"))}),
        translate("fr-FR", title="Bonjour"),
        translate("fr-FR", fields=raws(body="corps", nothing="x")),
        translate("de-DE", title="", fields=raws(body="")),
        status("draft"),
        update(stage_id="writing"),
    ],
)
def test_an_unchanged_entry_appends_nothing(command: UpdateEntry) -> None:
    french = {"fr-FR": Translation("Bonjour", raws(body="corps"))}
    entry = created(fields=raws(body="a"), translations=french, **MADE)
    given(*TYPES, entry).when(command).then()


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Bye"},
        {"slug": "bye"},
        {"status": "archived"},
        {"stage_id": "review"},
        {"fields": {"meta": Raw(b"1.00")}},
        {"fields": raws(body=None)},
        {"translations": {"fr-FR": Translation("")}},
        {"translations": {"de-DE": Translation("Hallo")}},
    ],
)
def test_a_changed_entry_appends_one_event(changes: dict[str, Any]) -> None:
    """A number in a different notation counts as a change."""
    french = {"fr-FR": Translation("Bonjour", raws(body="corps"))}
    entry = created(fields={**raws(body="a"), "meta": Raw(b"1.0")}, translations=french, **MADE)
    kind = type_created(TEXT, Field("meta", "Meta", "number"), stages=STAGES)
    given(kind, entry).when(update(**changes)).then(updated(**changes))


def test_an_update_event_has_only_what_changed() -> None:
    french = {"fr-FR": Translation("Bonjour")}
    entry = created(fields=raws(body="a", cover="x"), translations=french, **MADE)
    command = update(
        title="Hello",
        slug="bye",
        fields=raws(body="b", cover="x"),
        translations={**french, "de-DE": Translation("Hallo")},
    )
    given(*TYPES, entry).when(command).then(
        updated(slug="bye", fields=raws(body="b"), translations={"de-DE": Translation("Hallo")})
    )


@pytest.mark.parametrize(("stored", "sent"), [(None, []), ([], None), (..., []), (..., None)])
def test_a_repeater_without_elements_stays_the_same(stored: Any, sent: Any) -> None:
    fields = {} if stored is ... else raws(faq=stored)
    given(*TYPES, created(fields=fields, **MADE)).when(update(fields=raws(faq=sent))).then()


@pytest.mark.parametrize(("stored", "sent"), [(None, []), ([], None)])
def test_a_multiple_reference_may_have_no_value_or_no_references(stored: Any, sent: Any) -> None:
    """Filters can tell these apart (``exists``)."""
    entry = created(fields=raws(related=stored), **MADE)
    given(*TYPES, entry).when(update(fields=raws(related=sent))).then(
        updated(fields=raws(related=sent))
    )


def test_null_empties_a_field() -> None:
    given(*TYPES, created(fields=raws(body="a"), **MADE)).when(update(fields=raws(body=None))).then(
        updated(fields=raws(body=None))
    )


@pytest.mark.parametrize(
    ("command", "refusal", "text"),
    [
        (update(title=""), InvalidText, "The title is blank"),
        (update(slug=""), InvalidText, "The slug is empty"),
        (update(fields=raws(body=1)), InvalidField, "Field 'body' takes a string"),
        (update(stage_id="done"), InvalidEntry, "has no stage 'done'"),
        (update(expected_version=7), VersionConflict, "is at version 1, not 7: read it again"),
        (translate("xx-YY", title="a"), InvalidEntry, "Unsupported locale 'xx-YY'"),
        (translate("en-US", title="a"), InvalidEntry, "The entry is written in en-US"),
    ],
)
def test_an_update_is_refused(command: UpdateEntry, refusal: type[Any], text: str) -> None:
    given(*TYPES, created(**MADE)).when(command).then_refused(refusal, text)


def test_the_expected_version_allows_an_update_and_a_delete() -> None:
    given(*TYPES, created(**MADE)).when(update(title="b", expected_version=1)).then(
        updated(title="b")
    )
    remove = DeleteEntry(actor=OPERATOR, scope=SCOPE, entry_id=ENTRY, expected_version=2)
    given(*TYPES, created(**MADE)).when(remove).then_refused(VersionConflict, "not 2")


HELD = created(
    fields=raws(writer=AUTHOR, related=[NOBODY], links=[{"writer": AUTHOR}], cover="gone"), **MADE
)
AUTHOR_GONE = deleted(entry_id=AUTHOR, content_type_id=AUTHORS)


@pytest.mark.parametrize(
    "fields",
    [
        raws(body="b", writer=AUTHOR, related=[NOBODY], cover="gone"),
        raws(related=[NOBODY, NOBODY]),
        raws(links=[{"body": "new"}, {"writer": AUTHOR}]),
    ],
)
def test_a_target_that_the_field_already_has_is_accepted_even_if_deleted(
    fields: dict[str, Raw],
) -> None:
    outcome = given(*TYPES, AUTHOR_GONE, HELD).when(update(fields=fields))
    assert outcome.decision.events


@pytest.mark.parametrize("fields", [raws(writer=NOBODY), raws(links=[{"writer": NOBODY}])])
def test_a_target_that_another_field_has_is_looked_up(fields: dict[str, Raw]) -> None:
    given(*TYPES, AUTHOR_GONE, HELD).when(update(fields=fields)).then_refused(
        UnknownReference, "not in this environment"
    )


def test_an_existing_target_of_another_field_must_be_of_an_allowed_type() -> None:
    given(*TYPES, HELD).when(update(fields=raws(related=[AUTHOR]))).then_refused(
        UnknownReference, "an entry of type authors, but takes posts"
    )


NEEDING = type_created(NEEDED, TEXT, FAQ)


def test_a_draft_needs_no_required_field() -> None:
    given(NEEDING).when(create(fields=raws(faq=[{}]))).then(created(fields=raws(faq=[{}])))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "required fields: lead"),
        (raws(lead=None), "required fields: lead"),
        (raws(lead="", faq=[{}]), "required fields: lead, faq[0].q"),
        (raws(lead="a", faq=[{"q": "b"}, {"q": None}]), "required fields: faq[1].q"),
    ],
)
def test_publishing_needs_the_required_fields(fields: dict[str, Raw], text: str) -> None:
    given(NEEDING).when(create(status="published", fields=fields)).then_refused(MissingFields, text)
    given(NEEDING, created(fields=fields)).when(status("published")).then_refused(
        MissingFields, text
    )
    archived = created(fields=fields, status="archived")
    given(NEEDING, archived).when(status("published")).then_refused(MissingFields, text)


def test_publishing_may_set_the_required_field() -> None:
    given(NEEDING, created()).when(update(status="published", fields=raws(lead="a"))).then(
        updated(status="published", fields=raws(lead="a"))
    )


PUBLISHED = created(status="published", fields=raws(lead="a"))


@pytest.mark.parametrize("emptied", [None, ""])
def test_a_required_field_of_a_published_entry_cannot_be_emptied(emptied: str | None) -> None:
    given(NEEDING, PUBLISHED).when(update(fields=raws(lead=emptied))).then_refused(
        MissingFields, "lead"
    )
    to_draft = update(status="draft", fields=raws(lead=emptied))
    given(NEEDING, PUBLISHED).when(to_draft).then(
        updated(status="draft", fields=raws(lead=emptied))
    )


def test_an_entry_cannot_be_published_again_after_it_was_emptied() -> None:
    emptied = updated(status="draft", fields=raws(lead=None))
    given(NEEDING, PUBLISHED, emptied).when(status("published")).then_refused(MissingFields, "lead")


def test_a_field_that_became_required_later_blocks_no_other_change() -> None:
    need: Event = ContentTypeRevised(
        **event_of(at=NOON), content_type_id=POSTS, name="Posts", fields=(NEEDED, TEXT)
    )
    before = (type_created(TEXT), created(status="published"), need)
    given(*before).when(update(fields=raws(body="b"))).then(updated(fields=raws(body="b")))
    given(*before).when(status("archived")).then(updated(status="archived"))


def test_archiving_needs_nothing() -> None:
    given(NEEDING, created()).when(status("archived")).then(updated(status="archived"))


def test_a_translation_has_only_texts() -> None:
    texts = raws(
        body="corps",
        cover="x",
        writer=NOBODY,
        links=[{"body": "lien", "writer": NOBODY}],
        nothing="y",
    )
    given(*TYPES, created(**MADE)).when(translate("fr-FR", title="Bonjour", fields=texts)).then(
        updated(
            translations={
                "fr-FR": Translation("Bonjour", raws(body="corps", links=[{"body": "lien"}]))
            }
        )
    )


def test_a_translation_can_be_removed() -> None:
    entry = created(translations={"fr-FR": Translation("Bonjour")}, **MADE)
    given(*TYPES, entry).when(translate("fr-FR", title="")).then(
        updated(translations={"fr-FR": Translation("")})
    )


def test_an_entry_moves_to_a_stage() -> None:
    given(*TYPES, created(**MADE)).when(update(stage_id="review")).then(updated(stage_id="review"))


@pytest.mark.parametrize("stage_id", [None, "writing"])
def test_an_entry_without_a_stage_is_in_the_first_one_already(stage_id: str | None) -> None:
    entry = given(*TYPES, created(stage_id=None))
    entry.when(update(stage_id=stage_id)).then()
    entry.when(update(stage_id="review")).then(updated(stage_id="review"))


def test_a_deleted_entry_cannot_be_changed() -> None:
    remove = DeleteEntry(actor=OPERATOR, scope=SCOPE, entry_id=ENTRY)
    given(*TYPES, created(**MADE)).when(remove).then(deleted())


@pytest.mark.parametrize(
    "command", [update(title="b"), status("published"), translate("fr-FR", title="a")]
)
def test_an_unknown_entry_cannot_be_changed(command: UpdateEntry) -> None:
    given(*TYPES).when(command).then_refused(UnknownEntry, "Content entry not found")
