"""List and single reads over REST and GraphQL, compared with an oracle in Python: now and at any
moment of a random history, with the real budgets and with tiny ones."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Iterator
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from read_side import paging, past_versions
from read_side.queries import budget, finder
from tests.databases import Databases
from tests.integration.api.content_oracle import ANY, LISTED, SINGLE, ContentSnapshot, Question
from tests.integration.api.content_questions import (
    PAGE,
    REFERENCES,
    questions,
    rest,
    variables,
)
from tests.integration.api.random_history import PLACE, SLUGS, RandomHistory
from tests.integration.api.server import Answer, Client, Server, serving
from tests.integration.live_projector import rendered
from tests.integration.projector.reference_entries import Entry
from tests.store_clock import Clock, follow_clock
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

T = TypeVar("T")
SEED = 14
CHANGES = 260
EDITOR, READER = "secret-of-an-editor", "secret-of-a-reader"
DETERMINISTIC = settings(
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
ENTRY = """query ($type: String!, $slug: String!, $language: String, $locale: String,
    $asOf: DateTime) {
  contentEntry(type: $type, slug: $slug, language: $language, locale: $locale, asOf: $asOf) {
    ...Entry } }""" + PAGE[PAGE.index("\nfragment") :]
BY_ID = """query ($id: ID!, $locale: String) {
  contentEntryById(id: $id, locale: $locale) { ...Entry } }""" + PAGE[PAGE.index("\nfragment") :]


class OracleSession:
    """A server with a random history, and its clients. ``answer_counts`` counts questions by kind,
    status and number of returned entries (2 means several)."""

    def __init__(self, runner: asyncio.Runner, server: Server, history: RandomHistory) -> None:
        self._runner = runner
        self.server = server
        self.history = history
        self.answer_counts: Counter[tuple[str, int, int]] = Counter()
        times = history.reference.past.times()
        near = [time + timedelta(milliseconds=n) for time in times for n in (-1, 0, 1)]
        self.moments = sorted({one for one in near if one <= Clock.time})

    def run(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return self._runner.run(awaited())

    def get(self, path: str, question: Question) -> Answer:
        """Checks also that a success has an ETag, with which a repeat returns 304."""
        client = self._client(question)
        answer = self.run(client.get(path))
        if answer.status == 200:
            same = {"If-None-Match": answer.headers["ETag"]}
            assert self.run(client.get(path, headers=same)).status == 304
        return answer

    def ask(self, document: str, question: Question, **arguments: Any) -> Any:
        body = msgspec.json.encode({"query": document, "variables": arguments})
        headers = {"Content-Type": "application/json"}
        path = f"/graphql?environment={question.environment}"
        answer = self.run(self._client(question).post(body, path, headers=headers))
        assert answer.status == 200, answer.text
        return answer.body

    def snapshot(self, question: Question) -> ContentSnapshot:
        return ContentSnapshot(self.history.reference, question)

    def make_changes(self, number: int) -> None:
        """Makes random changes to the story and waits until they can be read."""

        async def change_and_wait() -> None:
            for _ in range(number):
                Clock.time += timedelta(milliseconds=1)
                await self.history.change()
            await self.server.caught_up()
            await rendered(self.server.url)

        self.run(change_and_wait())

    def _client(self, question: Question) -> Client:
        return self.server.client(READER if question.published_only else EDITOR)


@pytest.fixture(scope="module")
def session(databases: Databases) -> Iterator[OracleSession]:
    async def start(stack: contextlib.AsyncExitStack, url: str) -> tuple[Server, RandomHistory]:
        await follow_clock(url)
        recorder = await stack.enter_async_context(open_recorder(url))
        repository = Repository(recorder, EventMapper())
        server = await stack.enter_async_context(serving(url, repository))
        history = RandomHistory(repository, SEED)
        await history.write(CHANGES)
        await server.key(EDITOR, PLACE[0])
        await server.key(READER, PLACE[0], ("content.published",))
        await server.caught_up()
        await rendered(url)
        return server, history

    with databases.new() as url, asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()
        try:
            yield OracleSession(runner, *runner.run(start(stack, url)))
        finally:
            runner.run(stack.aclose())


def check_list(session: OracleSession, question: Question, *, is_bounded: bool = True) -> None:
    """``is_bounded``: whether the real budgets apply, which the whole story fits into."""
    snapshot = session.snapshot(question)
    over_graphql = replace(question, across=question.type_slug is None, select=(), include=())
    all_matches = snapshot.matches(question)
    if not snapshot.refusals(over_graphql, []) and question.words and not question.sort:
        all_matches = ranked(session, snapshot, question, all_matches)
    page = all_matches[question.offset :][: question.limit]
    check_rest(session, snapshot, question, all_matches, page, is_bounded=is_bounded)
    check_graphql(session, snapshot, over_graphql, all_matches, page, is_bounded=is_bounded)


def check_rest(
    session: OracleSession,
    snapshot: ContentSnapshot,
    question: Question,
    all_matches: list[Entry],
    page: list[Entry],
    *,
    is_bounded: bool,
) -> None:
    cursor = "first" if question.has_cursor else None
    answer = session.get(rest(question, cursor), question)
    session.answer_counts["REST", answer.status, min(len(page), 2)] += 1
    if allowed := snapshot.refusals(question, page):
        assert answer.status in allowed, answer.text
        return
    assert answer.status == 200, answer.text
    members = ANY if question.across else LISTED
    body = without_type_ids(answer.body)
    assert body["data"] == [snapshot.selected(one, members, question.select) for one in page]
    check_pagination(question, all_matches, body["pagination"], is_bounded=is_bounded)
    included = snapshot.included(page, question)[0] if question.include else None
    assert body.get("includes") == included
    plain = replace(question, select=("slug",), include=())
    found = [one["id"] for one in page]
    while following := body["pagination"].get("next"):
        body = session.get(rest(plain, following), question).body
        found += [one["id"] for one in body["data"]]
    assert not question.has_cursor or found == [one["id"] for one in all_matches]


def check_pagination(
    question: Question, all_matches: list[Entry], pagination: dict[str, Any], *, is_bounded: bool
) -> None:
    shown = dict(pagination)
    total = shown.pop("total", None)
    assert total == (len(all_matches) if question.counted else None) or (
        total is None and not is_bounded
    )
    following = shown.pop("next", None)
    assert bool(following) == (question.has_cursor and len(all_matches) > question.limit)
    offset = {} if question.has_cursor else {"offset": question.offset}
    assert shown == {"limit": question.limit, **offset}


def check_graphql(
    session: OracleSession,
    snapshot: ContentSnapshot,
    question: Question,
    all_matches: list[Entry],
    page: list[Entry],
    *,
    is_bounded: bool,
) -> None:
    has_references = question.type_slug == "posts" and question.limit <= 12
    document = PAGE % (
        REFERENCES if has_references else "",
        "total" if question.counted and is_bounded else "",
    )
    cursor = "first" if question.has_cursor else None
    answer = session.ask(document, question, **variables(question, cursor))
    allowed = snapshot.refusals(question, [])
    session.answer_counts["GraphQL", min(allowed, default=200), min(len(page), 2)] += 1
    if allowed:
        [error] = answer["errors"]
        assert error["extensions"]["status"] in allowed, error
        return
    assert "errors" not in answer, answer
    found = answer["data"]["contentEntries"]
    references = ("author", "related") if has_references else ()
    assert found["data"] == [as_graphql(snapshot, one, question, references) for one in page]
    pagination = {name: one for name, one in found["pagination"].items() if one is not None}
    if question.has_cursor:
        assert pagination.pop("offset") == 0
    check_pagination(question, all_matches, pagination, is_bounded=is_bounded)


def as_graphql(
    snapshot: ContentSnapshot, entry: Entry, question: Question, references: tuple[str, ...] = ()
) -> dict[str, Any]:
    named = {
        slug: [{"id": one} for one in snapshot.references(entry, slug, question)]
        for slug in references
    }
    return {**snapshot.served(entry, (*SINGLE, "version")), **named}


def without_type_ids(body: dict[str, Any]) -> dict[str, Any]:
    """The body without the type ids, which the model does not know."""
    data = body["data"] if isinstance(body["data"], list) else [body["data"]]
    for one in [*data, *body.get("includes", {"entries": {}})["entries"].values()]:
        if "contentType" in one:
            del one["contentType"]["id"]
    return body


def ranked(
    session: OracleSession, snapshot: ContentSnapshot, question: Question, all_matches: list[Entry]
) -> list[Entry]:
    """The matches in the service's order. Checks that entries with equal texts are newest first and
    that, for a single word, matches in the title come first."""
    whole = replace(question, limit=100, offset=0)
    document = PAGE[: PAGE.index("\nfragment")].replace("...Entry %s", "id") % ""
    found: list[str] = []
    for offset in range(0, len(all_matches) + 1, 100):
        arguments = variables(replace(whole, offset=offset))
        answer = session.ask(document, question, **arguments)
        assert "errors" not in answer, answer
        found += [one["id"] for one in answer["data"]["contentEntries"]["data"]]
    assert sorted(found) == sorted(one["id"] for one in all_matches)
    numbers = {one["id"]: number for number, one in enumerate(snapshot.entries)}
    by_text: dict[Any, list[int]] = {}
    for one in found:
        by_text.setdefault(snapshot.text_of(snapshot.by_id[one]), []).append(numbers[one])
    assert all(of == sorted(of, reverse=True) for of in by_text.values())
    if len(question.words) == 1:
        in_title = [
            snapshot.matches_words(snapshot.by_id[one], question, in_title=True) for one in found
        ]
        assert in_title == sorted(in_title, reverse=True)
    return [snapshot.by_id[one] for one in found]


def check_one(session: OracleSession, question: Question, slug: str) -> None:
    """Reads the entry of this type and slug, by its slug and by its id."""
    snapshot = session.snapshot(question)
    entry = snapshot.entry(question, slug)
    page = [] if entry is None else [entry]
    any_status = replace(question, limit=0, status=None)
    answer = session.get(
        rest(any_status).replace("?", f"/{quote(slug, safe='')}?", 1),
        question,
    )
    can_shape = snapshot.can_shape(question, page)
    session.answer_counts["single", answer.status, len(page)] += 1
    if entry is None or not can_shape:
        assert answer.status in ({404} if entry is None else set()) | ({400} - {400 * can_shape})
    else:
        body = without_type_ids(answer.body)
        assert body.pop("data") == snapshot.selected(entry, SINGLE, question.select)
        included = snapshot.included(page, question)[0]
        assert body == {"success": True} | ({"includes": included} if question.include else {})
    arguments = {name: variables(question)[name] for name in ("type", "language", "locale", "asOf")}
    found = session.ask(ENTRY, question, slug=slug, **arguments)
    if question.type_slug not in snapshot.types:
        assert found["errors"][0]["extensions"]["status"] == 404
        return
    shown = entry and as_graphql(snapshot, entry, question)
    assert found == {"data": {"contentEntry": shown}}
    if question.as_of is None and entry is not None:
        arguments = {"id": entry["id"], "locale": question.locale}
        found = session.ask(BY_ID, question, **arguments)
        assert found == {"data": {"contentEntryById": shown}}


def check_any(session: OracleSession, data: st.DataObject, *, is_bounded: bool = True) -> None:
    question = data.draw(questions(session.moments))
    check_list(session, question, is_bounded=is_bounded)
    alone = {"across": False, "filters": (), "sort": (), "words": (), "offset": 0}
    if question.type_slug is not None:
        language = question.language or "en-US"
        of = (question.type_slug, language)
        entries = session.snapshot(question).entries
        existing = [one["slug"] for one in entries if (one["type"], one["language"]) == of]
        slug = data.draw(st.sampled_from([*existing, *SLUGS[: 1 + len(existing)]]))
        select = tuple(one for one in question.select if one in SINGLE or "." in one)
        one = replace(question, **alone, language=language, counted=True, select=select)
        check_one(session, one, slug)


@pytest.fixture
def check_variety(session: OracleSession) -> Iterator[None]:
    """Guards against vacuous tests: over a twentieth of the questions must find several
    entries, or one where a single entry is asked for."""
    session.answer_counts.clear()
    yield
    for kind, number in (("REST", 2), ("GraphQL", 2), ("single", 1)):
        asked = sum(times for (of, _, _), times in session.answer_counts.items() if of == kind)
        found = session.answer_counts[kind, 200, number]
        assert found > asked / 20, f"choose another SEED: {session.answer_counts}"


@pytest.mark.usefixtures("check_variety")
@settings(DETERMINISTIC, max_examples=40)
@given(data=st.data())
def test_any_question_against_the_oracle(data: st.DataObject, session: OracleSession) -> None:
    check_any(session, data)


@pytest.mark.slow
@pytest.mark.usefixtures("check_variety")
@settings(DETERMINISTIC, max_examples=3_000)
@given(data=st.data())
def test_thousands_of_questions_against_the_oracle(
    data: st.DataObject, session: OracleSession
) -> None:
    check_any(session, data)


@pytest.mark.slow
@pytest.mark.usefixtures("check_variety")
@settings(DETERMINISTIC, max_examples=1_000)
@given(data=st.data())
def test_questions_with_tiny_budgets_against_the_oracle(
    data: st.DataObject, session: OracleSession
) -> None:
    """Small bounds make the service read lists in pieces, as it does with long ones."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, bound in (
            (finder, "ROWS", 6),
            (budget, "CHUNK", 3),
            (budget, "ROWS", 10**9),
            (budget, "COUNTED", 10**9),
            (budget, "MERGED", 10**9),
            (past_versions, "FEW", 3),
            (paging, "DEEP", 3),
        ):
            patch.setattr(module, name, bound)
        check_any(session, data, is_bounded=False)


@settings(DETERMINISTIC, max_examples=5)
@given(data=st.data())
def test_cursors_while_entries_change(data: st.DataObject, session: OracleSession) -> None:
    check_cursor_during_changes(session, data)


@pytest.mark.slow
@settings(DETERMINISTIC, max_examples=150)
@given(data=st.data())
def test_hundreds_of_cursors_while_entries_change(
    data: st.DataObject, session: OracleSession
) -> None:
    check_cursor_during_changes(session, data)


def check_cursor_during_changes(session: OracleSession, data: st.DataObject) -> None:
    """An entry that matches throughout, with unchanged sort values, appears on exactly one page. A
    list of the past does not change."""
    question = data.draw(questions(session.moments))
    question = replace(question, has_cursor=True, offset=0, limit=4, select=("slug",), include=())
    snapshot = session.snapshot(question)
    if snapshot.refusals(question, []):
        return
    all_matches, steady = snapshot.matches(question), sort_values_of_matches(snapshot, question)
    found, following = [], "first"
    while following:
        answer = session.get(rest(question, following), question)
        assert answer.status == 200, answer.text
        found += [one["id"] for one in answer.data]
        following = answer.body["pagination"]["next"]
        if following:
            session.make_changes(2)
            now = sort_values_of_matches(session.snapshot(question), question)
            steady = {one: keys for one, keys in steady.items() if now.get(one) == keys}
    assert [found.count(one) for one in steady] == [1] * len(steady)
    if question.as_of is not None:
        assert found == [one["id"] for one in all_matches]


def sort_values_of_matches(snapshot: ContentSnapshot, question: Question) -> dict[str, Any]:
    """What each match is sorted by, keyed by entry id."""
    is_ranked = question.words and not question.sort
    return {
        one["id"]: snapshot.text_of(one) if is_ranked else snapshot.sort_values(one, question)
        for one in snapshot.matches(question)
    }
