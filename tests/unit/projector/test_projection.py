"""The projection as a plain function: events in, rows out."""

from __future__ import annotations

import json
from itertools import count
from typing import Any, get_args

import pytest
from msgspec.structs import asdict, astuple, replace

from projector.entry_rows import ENTRY_COLUMNS, UNCHANGED, entry_rows, locale_rows
from projector.projection import (
    _STEPS,
    Inconsistent,
    RecordedEvent,
    Skipped,
    next_state,
    project,
    required_rows,
)
from projector.rows import (
    NO_TYPE,
    EntryState,
    PastVersion,
    Rows,
    columns,
    count_changes,
    locale_changes,
)
from tests.unit.samples import (
    AUTHOR,
    AUTHORS,
    ENTRY,
    LATER,
    LATEST,
    NOON,
    POSTS,
    STAGES,
    TEXT,
    created,
    deleted,
    event_of,
    raws,
    type_created,
    updated,
    workspace_created,
)
from tests.unit.store.golden_events import EXPECTED
from write_side.domain import events as e
from write_side.domain.definition import Field
from write_side.domain.events import Plan, Translation
from write_side.domain.identity import Actor, slug_hash

LEAD = Field("lead", "Lead", "text")
DRAFTS = ("acme", "production", POSTS, "draft", "en-US")
PUBLISHED = ("acme", "production", POSTS, "published", "en-US")


def recorded(*events: e.Event, start: int = 1, **versions: int) -> list[RecordedEvent]:
    """Records the events at consecutive positions. Stream versions start at 1, or follow
    ``after``."""
    known: dict[str, int] = {}
    batch = []
    for position, event in zip(count(start), events):
        stream = next(
            (getattr(event, name) for name in IDS if getattr(event, name, None)), event.workspace
        )
        known[stream] = known.get(stream, versions.get("after", 0)) + 1
        batch.append(RecordedEvent(position, stream, known[stream], event))
    return batch


IDS = ("entry_id", "key_id", "media_id", "import_id", "content_type_id")
POSTS_TYPE = project(recorded(type_created(TEXT)), Rows())


def revised(*fields: Field, **changes: Any) -> e.ContentTypeRevised:
    properties = {"content_type_id": POSTS, "name": "Posts", "at": LATER, **changes}
    return e.ContentTypeRevised(**event_of(fields=fields, **properties))


def removed(**changes: Any) -> e.ContentTypeRemoved:
    return e.ContentTypeRemoved(**event_of(**{"content_type_id": POSTS, **changes}))


def rows_after(*events: e.Event) -> Rows:
    """Returns the rows that a type of posts and these events produce, as the state before a
    batch."""
    after = project(recorded(*events), POSTS_TYPE)
    return Rows(
        types={**POSTS_TYPE.types, **after.types},
        entries=after.entries,
        workspaces=after.workspaces,
    )


def entry_of(rows: Rows, entry_id: str = ENTRY) -> EntryState:
    state = rows.entries[entry_id]
    assert state is not None
    return state


class TestEntries:
    def test_a_created_entry_is_a_row_at_its_position(self) -> None:
        rows = project(recorded(created(), start=7), POSTS_TYPE)
        state = entry_of(rows)
        assert (state.position, state.entry.version, state.entry.title) == (7, 1, "Hello")

    def test_publishing_sets_published_at(self) -> None:
        batch = recorded(created(status="draft"), updated(status="published", at=LATER))
        assert entry_of(project(batch, POSTS_TYPE)).entry.published_at == LATER

    def test_several_events_of_an_entry_are_one_row_at_the_first_position(self) -> None:
        batch = recorded(
            created(), updated(title="Two"), updated(title="Three", at=LATEST), start=7
        )
        state = entry_of(project(batch, POSTS_TYPE))
        assert (state.position, state.entry.version, state.entry.title) == (7, 3, "Three")
        assert (state.entry.created_at, state.entry.updated_at) == (NOON, LATEST)

    def test_an_update_builds_on_the_row_before_the_batch(self) -> None:
        before = rows_after(created(fields=raws(body="B")))
        rows = project(recorded(updated(title="Two"), start=90, after=1), before)
        state = entry_of(rows)
        assert (state.position, state.entry.version) == (1, 2)
        assert state.entry.fields == raws(body="B")

    def test_created_and_deleted_in_one_batch_leaves_nothing_to_write(self) -> None:
        rows = project(recorded(created(), updated(title="Two"), deleted()), POSTS_TYPE)
        assert rows.entries == {ENTRY: None}
        assert totals(POSTS_TYPE, rows) == {}

    def test_a_deleted_entry_is_a_removed_row(self) -> None:
        before = rows_after(created())
        rows = project(recorded(deleted(), after=1), before)
        assert rows.entries == {ENTRY: None}
        assert totals(before, rows) == {DRAFTS: -1}

    def test_a_released_slug_is_kept_with_its_time(self) -> None:
        before = rows_after(created(slug="one"))
        batch = recorded(
            updated(slug="two", at=LATER), updated(title="Two", at=LATEST), start=90, after=1
        )
        rows = project(batch, before)
        [past] = rows.past_slugs
        assert (past.slug_hash, past.id, past.position) == (slug_hash("one"), ENTRY, 90)
        assert (past.since, past.until) == (NOON, LATER)
        place = (past.workspace, past.environment, past.content_type_id, past.language)
        assert place == ("acme", "production", POSTS, "en-US")
        assert entry_of(rows).slug_since == LATER

    def test_deleting_an_entry_releases_its_slug(self) -> None:
        rows = project(recorded(created(slug="one"), deleted(at=LATER)), POSTS_TYPE)
        [past] = rows.past_slugs
        assert (past.slug_hash, past.position) == (slug_hash("one"), 2)
        assert (past.since, past.until) == (NOON, LATER)

    def test_each_version_that_ended_is_kept(self) -> None:
        before = rows_after(created())
        batch = recorded(
            updated(status="published", at=LATER),
            updated(title="Two", at=LATEST),
            start=90,
            after=1,
        )
        rows = versions(batch, before)
        assert [(row.version, row.status, row.updated_at, row.until) for row in rows] == [
            (1, "draft", NOON, LATER),
            (2, "published", LATER, LATEST),
        ]
        assert {(row.id, row.position) for row in rows} == {(ENTRY, 1)}

    @pytest.mark.parametrize("name", ["title", "slug"])
    def test_a_text_too_long_to_be_compared_is_not_kept(self, name: str) -> None:
        longest, longer = "ü" * 500, "ü" * 500 + "a"
        batch = recorded(created(**{name: longest}), updated(**{name: longer}), deleted())
        assert [getattr(row, name) for row in versions(batch, POSTS_TYPE)] == [longest, None]

    def test_a_version_that_no_moment_has_is_not_kept(self) -> None:
        at_once = created(), updated(title="Two", at=NOON), deleted(at=NOON)
        assert versions(recorded(*at_once), POSTS_TYPE) == []

    def test_deleting_an_entry_ends_its_last_version(self) -> None:
        assert len(versions(recorded(created(), deleted(at=LATER)), POSTS_TYPE)) == 1

    def test_entries_that_swap_slugs_in_one_batch_end_with_each_others(self) -> None:
        before = rows_after(created(slug="one"), created(entry_id=AUTHOR, slug="two"))
        batch = recorded(
            updated(slug="aside"),
            updated(entry_id=AUTHOR, slug="one"),
            updated(slug="two"),
            after=1,
        )
        rows = project(batch, before)
        assert entry_of(rows).entry.slug == "two"
        assert entry_of(rows, AUTHOR).entry.slug == "one"

    def test_the_outcome_is_independent_of_batches(self) -> None:
        events = [created(), updated(title="Two"), updated(status="published"), updated(slug="x")]
        batch = recorded(*events)
        whole = project(batch, POSTS_TYPE)
        before = rows_after()
        for one in batch:
            after = project([one], before)
            before = replace(before, entries={**before.entries, **after.entries})
        assert before.entries == whole.entries

    def test_the_rows_before_are_unchanged(self) -> None:
        before = rows_after(created())
        project(recorded(updated(title="Two"), after=1), before)
        assert entry_of(before).entry.title == "Hello"

    @pytest.mark.parametrize(
        ("batch", "says"),
        [
            (recorded(updated()), "was never created"),
            (recorded(deleted()), "was never created"),
            (recorded(created(), deleted(), updated()), "was never created"),
            (
                [RecordedEvent(5, "entry/1", 2, created())],
                "version 2 at position 5, but 1 was expected",
            ),
            (recorded(created(), created()), "is created again at position 2"),
            (recorded(created(content_type_id=AUTHORS)), "builds on a row that is missing"),
        ],
    )
    def test_inconsistent_events_are_refused(self, batch: list[RecordedEvent], says: str) -> None:
        with pytest.raises(Inconsistent, match=says):
            project(batch, POSTS_TYPE)

    @pytest.mark.parametrize(
        ("event", "says"), [(updated(), "was never created"), (created(), "but 1 was expected")]
    )
    def test_a_stream_ends_with_the_deletion(self, event: e.Event, says: str) -> None:
        state: EntryState | None = None
        first, second, third = recorded(created(), deleted(), event)
        for one in (first, second):
            state = next_state(state, one)
        with pytest.raises(Inconsistent, match=says):
            next_state(state, third)

    def test_a_missing_version_is_inconsistent(self) -> None:
        with pytest.raises(Inconsistent, match=r"has version 3 .* but 2 was expected"):
            project(recorded(updated(), after=2), rows_after(created()))


def versions(batch: list[RecordedEvent], before: Rows) -> list[PastVersion]:
    return project(batch, before).past_versions


def totals(before: Rows, after: Rows) -> dict[tuple[str, ...], int]:
    """Returns the changes to the totals by type, status and language."""
    changes = count_changes(before, after)
    return {
        (workspace, environment, *of_list): n
        for (workspace, environment, filters, level, *of_list, _), n in changes.items()
        if filters == 3 and level == 0
    }


class TestCounts:
    def test_a_change_of_status_moves_the_entry_from_one_count_to_the_other(self) -> None:
        before = rows_after(created())
        rows = project(recorded(updated(status="published"), after=1), before)
        assert totals(before, rows) == {DRAFTS: -1, PUBLISHED: 1}
        assert all(count_changes(before, rows).values()), "those of all statuses are the same"

    def test_changes_that_cancel_out_are_omitted(self) -> None:
        before = rows_after(created())
        batch = recorded(updated(status="published"), updated(status="draft"), after=1)
        assert totals(before, project(batch, before)) == {}

    def test_several_entries_of_a_group_are_added_up(self) -> None:
        entries = [created(entry_id=f"e{n}", slug=f"s{n}") for n in range(3)]
        french = created(entry_id="fr", language="fr-FR")
        rows = project(recorded(*entries, french), POSTS_TYPE)
        assert totals(Rows(), rows) == {DRAFTS: 3, (*DRAFTS[:4], "fr-FR"): 1}

    def test_an_entry_counts_in_a_block_of_each_level(self) -> None:
        blocks = (0, 2**18, 2**18 + 2**13, 2**18 + 2**13 + 2**8)
        rows = project(recorded(created(), start=blocks[-1] + 255), POSTS_TYPE)
        assert count_changes(POSTS_TYPE, rows) == {
            ("acme", "production", filters, level, *of_list, block): 1
            for level, block in enumerate(blocks)
            for filters, *of_list in ((0, NO_TYPE, "", ""), (1, POSTS, "", ""), (3, *DRAFTS[2:]))
        }

    def test_translations_are_counted_by_locale_and_status(self) -> None:
        before = rows_after(created(translations={"fr-FR": Translation("A")}))
        french = ("acme", "production", "fr-FR", "draft")
        assert locale_changes(Rows(), before) == {french: 1}
        assert locale_changes(before, project(recorded(deleted(), after=1), before)) == {french: -1}
        update = updated(status="published", translations={"de-DE": Translation("B")})
        assert locale_changes(before, project(recorded(update, after=1), before)) == {
            ("acme", "production", "fr-FR", "draft"): -1,
            ("acme", "production", "fr-FR", "published"): 1,
            ("acme", "production", "de-DE", "published"): 1,
        }
        retitled = updated(translations={"fr-FR": Translation("C")})
        assert locale_changes(before, project(recorded(retitled, after=1), before)) == {}


class TestTypes:
    def test_a_revision_in_the_same_batch_renders_the_entries_created_before_it(self) -> None:
        batch = recorded(
            type_created(TEXT),
            created(fields=raws(body="B", lead="L")),
            revised(LEAD, TEXT, name="Articles"),
        )
        rows = project(batch, Rows())
        assert row_of(entry_of(rows), types_of(rows))["fields"] == '{"lead":"L","body":"B"}'
        type_ = rows.types[POSTS]
        assert type_ is not None
        assert (type_.name, type_.version, type_.updated_at) == ("Articles", 2, LATER)
        assert type_.created_at == NOON

    def test_removed_and_created_again_in_one_batch_are_two_rows(self) -> None:
        again = type_created(LEAD, content_type_id=AUTHORS)
        rows = project(recorded(removed(), again, after=0), POSTS_TYPE)
        assert rows.types[POSTS] is None
        assert rows.types[AUTHORS] is not None

    def test_a_revision_of_an_unknown_type_is_inconsistent(self) -> None:
        with pytest.raises(Inconsistent, match="builds on a row that is missing"):
            project(recorded(removed(), revised(TEXT)), POSTS_TYPE)

    def test_a_removed_type_is_kept_with_the_time_in_which_it_existed(self) -> None:
        rows = project(recorded(removed(at=LATER), start=9, after=1), POSTS_TYPE)
        assert rows.types == {POSTS: None}
        assert [asdict(past) for past in rows.past_types] == [
            {
                "workspace": "acme",
                "environment": "production",
                "slug": "posts",
                "position": 9,
                "id": POSTS,
                "since": NOON,
                "until": LATER,
            }
        ]


class TestTheRest:
    def test_a_workspace_is_renamed(self) -> None:
        batch = recorded(
            workspace_created(),
            e.WorkspaceRenamed(**event_of(name="New", environment=None)),
            e.PlanChanged(**event_of(plan=Plan(entries=3), environment=None)),
            e.EnvironmentAdded(**event_of(environment="staging")),
        )
        assert project(batch, Rows()).workspaces["acme"].name == "New"

    def test_keys_have_no_rows(self) -> None:
        batch = recorded(
            e.KeyIssued(**event_of(key_id="k", name="K", permissions=("a",), secret_hash="h")),
            e.KeyPermissionsChanged(**event_of(key_id="k", permissions=("b",))),
            e.KeyRevoked(**event_of(key_id="k", at=LATER)),
        )
        assert project(batch, Rows()) == Rows()

    def test_media_is_added_changed_and_removed(self) -> None:
        def media(kind: type[e.Event], name: str) -> e.Event:
            return kind(**event_of(media_id="m", url="u", name=name, content_type="t"))

        changed = project(recorded(media(e.MediaAdded, "a"), media(e.MediaChanged, "b")), Rows())
        row = changed.media[("acme", "m")]
        assert row is not None
        assert astuple(row) == ("m", "b", "u", "t", "acme")
        gone = project(recorded(e.MediaRemoved(**event_of(media_id="m"))), Rows())
        assert gone.media == {("acme", "m"): None}

    def test_a_webhook_is_created_changed_switched_and_removed(self) -> None:
        def definition(kind: type[e.Event], url: str) -> e.Event:
            return kind(**event_of(name="w", url=url, webhook_environment="staging"))

        first = recorded(
            definition(e.WebhookCreated, "https://a.example/"),
            e.WebhookSwitchedOff(**event_of(name="w", reason="410", at=LATER)),
            definition(e.WebhookChanged, "https://b.example/"),
        )
        row = project(first, Rows()).webhooks[("acme", "w")]
        assert row is not None
        assert (row.url, row.environment, row.off) == ("https://b.example/", "staging", "410")
        assert (row.created, row.position) == (first[0].version, first[-1].position)
        known = Rows(webhooks={("acme", "w"): row})
        on = recorded(e.WebhookSwitchedOn(**event_of(name="w")))
        switched = project(on, known).webhooks[("acme", "w")]
        assert switched is not None
        assert switched.off is None
        assert switched.created == row.created
        gone = recorded(e.WebhookRemoved(**event_of(name="w")))
        assert project(gone, known).webhooks == {("acme", "w"): None}
        assert project(recorded(e.WebhookSecretRotated(**event_of(name="w"))), known) == Rows()

    def test_an_import_is_a_row(self) -> None:
        counts = {"created": 2, "updated": 3, "unchanged": 4, "skipped": 1, "failed": 5}
        event = e.ImportRecorded(
            **event_of(import_id="i", content_type_id=POSTS, file_name="f", **counts)
        )
        assert asdict(project(recorded(event), Rows()).imports["i"]) == {
            "id": "i",
            "workspace": "acme",
            "environment": "production",
            "content_type_id": POSTS,
            "file_name": "f",
            **counts,
            "imported_by": "operator ann",
            "imported_at": NOON,
            "reverted_at": None,
        }

    def test_a_reverted_import_has_the_time_of_the_revert(self) -> None:
        reverted = e.ImportReverted(**event_of(import_id="i", content_type_id=POSTS, at=LATER))
        made = e.ImportRecorded(
            **event_of(import_id="i", content_type_id=POSTS, file_name="f", created=2),
            by=Actor("key", "k", "web"),
        )
        assert required_rows(recorded(reverted)).imports == {("acme", "i")}
        before = project(recorded(made), Rows())
        for rows in (
            project(recorded(reverted), before),
            project(recorded(made, reverted), Rows()),
        ):
            row = rows.imports["i"]
            assert (row.created, row.imported_by, row.reverted_at) == (2, "web", LATER)

    def test_a_saved_mapping_is_not_projected(self) -> None:
        saved = e.ImportMappingSaved(**event_of(content_type_id=POSTS, columns=()))
        assert project(recorded(saved), Rows()) == Rows()

    @pytest.mark.parametrize(
        "event",
        [
            e.WebhookSwitchedOn(**event_of(name="w")),
            e.ImportReverted(**event_of(import_id="i", content_type_id=POSTS)),
        ],
    )
    def test_changes_of_unknown_rows_are_inconsistent(self, event: e.Event) -> None:
        with pytest.raises(Inconsistent, match="builds on a row that is missing"):
            project(recorded(event), Rows())

    def test_there_is_a_step_for_every_event(self) -> None:
        assert set(_STEPS) - {Skipped} == set(e.TOPICS.values())


class TestNeeds:
    def test_entries_that_the_batch_creates_are_not_loaded(self) -> None:
        batch = recorded(created(), updated(), updated(entry_id=AUTHOR))
        assert required_rows(batch).entries == {("acme", "production", AUTHOR)}

    @pytest.mark.parametrize("kind", sorted(get_args(e.EntryEvent), key=str))
    def test_every_event_needs_its_entry_unless_it_creates_it(self, kind: type[e.Event]) -> None:
        event: Any = next(one for one in EXPECTED.values() if type(one) is kind)
        needed = required_rows(recorded(event)).entries
        known = {("acme", "production", event.entry_id)}
        assert needed == (set() if kind is e.EntryCreated else known)

    def test_an_entry_needs_its_type(self) -> None:
        assert required_rows(recorded(deleted())).types == {("acme", POSTS)}

    def test_webhooks_are_loaded_for_their_changes(self) -> None:
        switched = recorded(e.WebhookSwitchedOn(**event_of(name="w")))
        assert required_rows(switched).webhooks == {("acme", "w")}


class TestColumns:
    def test_locales_have_a_row_each_with_fallback_already_applied(self) -> None:
        event = created(
            fields=raws(body="Hello"),
            translations={
                "fr-FR": Translation("Bonjour", raws(body="Salut")),
                "de-DE": Translation(None, raws(body="Hallo")),
            },
        )
        rows = project(recorded(event), POSTS_TYPE)
        found = locale_rows([entry_of(rows).entry], types_of(rows))
        assert [row[2:3] + row[4:5] + row[-1:] for row in found] == [
            ("fr-FR", "Bonjour", '{"body":"Salut"}'),
            ("de-DE", "Hello", '{"body":"Hallo"}'),
        ]

    def test_only_changed_parts_of_a_large_entry_are_written(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("projector.entry_rows.MAX_RENDERED", 0)
        french = Translation("Bonjour", raws(body="Salut"))
        given = {"fr-FR": french, "de-DE": Translation(None, raws(body="Hallo"))}
        before = rows_after(created(translations=given))
        types = types_of(before)

        def written_rows(change: e.Event) -> tuple[list[str], str | None]:
            """Returns the locales whose rows are written, and the translations in the entry's own
            row."""
            state = entry_of(project(recorded(change, after=1), before))
            own = row_of(state, types, before.entries)
            rows = locale_rows([state.entry], types, before.entries)
            return [row[2] for row in rows], own["translations"]

        assert written_rows(updated(fields=raws(body="B"))) == ([], UNCHANGED)
        assert written_rows(updated(title="T")) == (["de-DE"], UNCHANGED), (
            "it has no title of its own"
        )
        locales, translations = written_rows(updated(translations={"fr-FR": Translation("Salut")}))
        assert locales == ["fr-FR"]
        assert "Hallo" in str(translations)
        _, translations = written_rows(
            updated(translations={"de-DE": Translation(fields=raws(body=""))})
        )
        assert translations == '{"fr-FR":{"title":"Bonjour","fields":{"body":"Salut"}}}'

    @pytest.mark.parametrize(
        ("before", "after", "french"),
        [
            ("short", "b" * 90, ('{"body":"Salut"}', None)),
            ("b" * 90, "short", (None, '{"body":"Salut"}')),
        ],
    )
    def test_an_entry_that_becomes_large_or_small_has_all_its_rows_written(
        self,
        before: str,
        after: str,
        french: tuple[str | None, ...],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A translation with only a title has neither texts nor fields."""
        monkeypatch.setattr("projector.entry_rows.MAX_RENDERED", 60)
        translations = {
            "fr-FR": Translation("Bonjour", raws(body="Salut")),
            "de-DE": Translation("Hallo"),
        }
        rows = rows_after(created(translations=translations, fields=raws(body=before)))
        change = recorded(updated(fields=raws(body=after)), after=1)
        entry = entry_of(project(change, rows)).entry
        found = {row[2]: row[-2:] for row in locale_rows([entry], types_of(rows), rows.entries)}
        assert found == {"fr-FR": french, "de-DE": (None, None)}

    def test_without_translations_there_are_no_rows_and_no_columns(self) -> None:
        rows = project(recorded(created()), POSTS_TYPE)
        assert not list(locale_rows([entry_of(rows).entry], types_of(rows)))
        assert columns([]) == []

    def test_stored_values_keep_those_of_removed_fields(self) -> None:
        rows = project(recorded(created(fields=raws(gone=1, body="B"))), POSTS_TYPE)
        row = row_of(entry_of(rows), types_of(rows))
        assert (row["stored"], row["fields"]) == ('{"gone":1,"body":"B"}', '{"body":"B"}')
        rows = project(recorded(created(fields=raws(body="B"))), POSTS_TYPE)
        assert row_of(entry_of(rows), types_of(rows))["stored"] is None

    def test_an_entry_is_a_row_with_its_stage_and_translations(self) -> None:
        types = project(recorded(type_created(TEXT, stages=STAGES)), Rows())
        event = created(stage_id="review", translations={"fr-FR": Translation("Bonjour")})
        row = row_of(entry_of(project(recorded(event), types)), types_of(types))
        assert (row["stage_id"], json.loads(row["stage"])["id"]) == ("review", "review")
        assert json.loads(row["translations"]) == {"fr-FR": {"title": "Bonjour"}}
        rows = project(recorded(created()), POSTS_TYPE)
        assert row_of(entry_of(rows), types_of(rows))["translations"] is None

    def test_columns_are_the_transposed_rows(self) -> None:
        assert columns([("a", 1), ("b", 2)]) == [["a", "b"], [1, 2]]
        with pytest.raises(ValueError, match="argument 2 is shorter"):
            columns([("a", 1), ("b",)])

    def test_a_stage_is_kept_in_the_archive_but_not_shown(self) -> None:
        types = project(recorded(type_created(TEXT, stages=STAGES)), Rows())
        rows = project(recorded(created(stage_id="review", status="archived")), types)
        row = row_of(entry_of(rows), types_of(types))
        assert (row["stage_id"], row["stage"]) == ("review", None)

    def test_a_renderer_is_created_again_when_the_type_is_revised(self) -> None:
        values = raws(body="B", lead="L")
        old = POSTS_TYPE.types[POSTS]
        assert old is not None
        assert old.renderer.render(values) == b'{"body":"B"}'
        new = project(recorded(revised(LEAD), after=1), POSTS_TYPE).types[POSTS]
        assert new is not None
        assert new.renderer.render(values) == b'{"lead":"L"}'
        assert new.renderer is new.renderer


def types_of(rows: Rows) -> dict[str, Any]:
    return {**POSTS_TYPE.types, **rows.types}


def row_of(state: EntryState, types: dict[str, Any], before: Any = None) -> dict[str, Any]:
    [row] = entry_rows([state], types, before or {})
    return dict(zip(ENTRY_COLUMNS, row, strict=True))
