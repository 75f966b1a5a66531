"""Each refusal says what is wrong and how to correct it."""

from __future__ import annotations

import pytest

from write_side.domain import refusals as r

SPOKEN_FREELY = {r.InvalidEntry, r.InvalidText, r.InvalidDefinition, r.Taken}


def texts() -> list[tuple[r.Refused, str]]:
    return [
        (r.UnknownWorkspace("acme"), "There is no workspace 'acme'"),
        (r.UnknownContentType(), "Content type not found"),
        (r.UnknownEntry(), "Content entry not found"),
        (r.UnknownKey("web"), "There is no API key 'web' in this workspace"),
        (r.UnknownWebhook("web"), "There is no webhook 'web' in this workspace"),
        (
            r.WebhookTaken("web"),
            "A webhook 'web' already exists in this workspace; choose another name",
        ),
        (r.StagingNotInPlan(), "The staging environment is not included in your team's plan"),
        (r.EnvironmentNotSetUp("staging"), "This team has no staging environment yet"),
        (r.InvalidField("faq[0].q", "a string"), "Field 'faq[0].q' takes a string"),
        (
            r.UnknownReference("author", "x", "which is not in this environment"),
            "Field 'author' refers to 'x', which is not in this environment",
        ),
        (
            r.MissingFields(["body", "faq[0].q"]),
            "Publishing needs a value in these required fields: body, faq[0].q",
        ),
        (
            r.SlugTaken("hello"),
            "An entry with the slug 'hello' already exists in this content type; "
            "send another slug or update that entry",
        ),
        (
            r.EntryIdTaken("e"),
            "An entry with the id e already exists; leave it out or send another",
        ),
        (
            r.ContentTypeTaken("posts"),
            "A content type with the slug 'posts' already exists; "
            "choose another slug or revise that one",
        ),
        (
            r.KeyTaken("web"),
            "The key 'web' cannot be issued: this workspace already has a key with this name, or "
            "another key has the same secret; choose others or revoke that key first",
        ),
        (r.WorkspaceTaken("acme"), "A workspace 'acme' already exists; choose another slug"),
        (
            r.ImportIdTaken("i"),
            "The import id 'i' was used for a different import; choose another id",
        ),
        (
            r.ContentTypeInUse("posts"),
            "The content type 'posts' still has entries; delete them first",
        ),
        (
            r.PlanLimitReached(3, "entry", "entries"),
            "Your plan's limit of 3 entries is reached; "
            "upgrade the plan or delete some to add more",
        ),
        (
            r.VersionConflict(1, 2),
            "The entry is at version 2, not 1: read it again and repeat the change",
        ),
        (r.UnknownImport("i-1"), "There is no import 'i-1'"),
        (r.UnknownUpload(), "This upload has expired or was discarded: upload the file again"),
        (r.UnknownVersion(9, 4), "This entry has no version 9; its versions are 1 to 4"),
        (
            r.FileMismatch("i-1", "posts.csv"),
            "The import id 'i-1' was used for another file, 'posts.csv': "
            "import this one under another id",
        ),
        (
            r.CommandKeyReused(),
            "This idempotency key was used for a different request; choose a new one",
        ),
    ]


def test_a_refusal_says_what_is_wrong_and_what_to_do() -> None:
    for refusal, text in texts():
        assert str(refusal) == text


def test_a_refusal_has_the_parts_that_callers_show_elsewhere() -> None:
    reference = r.UnknownReference("author", "x", "which is gone")
    assert (reference.path, reference.target, reference.why) == ("author", "x", "which is gone")
    field = r.InvalidField("faq[0].q", "a string")
    assert (field.path, field.expected) == ("faq[0].q", "a string")
    assert r.MissingFields(["body"]).paths == ["body"]
    assert r.PlanLimitReached(3, "entry", "entries").limit == 3


def descendants(of: type[r.Refused]) -> set[type[r.Refused]]:
    below = of.__subclasses__()
    return set(below).union(*map(descendants, below))


def test_every_refusal_is_in_the_table_and_in_the_drawn_tree() -> None:
    ours = {refusal for refusal in descendants(r.Refused) if refusal.__module__ == r.__name__}
    assert {type(refusal) for refusal, _ in texts()} | SPOKEN_FREELY == ours
    assert r.__doc__ is not None
    assert [refusal.__name__ for refusal in ours if refusal.__name__ not in r.__doc__] == []


def test_a_long_slug_or_id_is_shown_in_part() -> None:
    assert len(str(r.SlugTaken("x" * 100_000))) < 400
    assert (r.shortened("x" * 100), r.shortened("x" * 101)) == ("x" * 100, "x" * 100 + "…")
    reference = r.UnknownReference("author", "x" * 100_000, "which is gone")
    assert len(str(reference)) < 400
    assert len(reference.target) == 100_000


def test_a_stale_decision_is_not_a_refusal() -> None:
    assert not issubclass(r.StaleDecision, r.Refused)


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 entries"), (1, "1 entry"), (2, "2 entries"), (2_000, "2,000 entries")]
)
def test_the_word_agrees_with_the_number(n: int, text: str) -> None:
    assert r.count(n, "entry", "entries") == text


def test_most_words_only_take_an_s() -> None:
    assert (r.count(1, "row"), r.count(2, "row")) == ("1 row", "2 rows")
