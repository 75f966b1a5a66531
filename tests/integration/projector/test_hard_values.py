"""Values that are hard to derive words and keys from, or to store: whatever a write accepts can be
projected and rebuilt. One event that cannot would halt the projector for all workspaces."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from msgspec import Raw
from structlog.testing import capture_logs

from projector import entry_search
from projector.entry_values import TypeValues
from tests.integration.live_projector import dump, project_all
from tests.integration.projector.command_strategies import HARD_TEXTS
from tests.integration.projector.rebuilds import rebuild
from tests.integration.projector.sample_log import ContentBuilder, raws, rows
from write_side.domain.definition import Field, Option
from write_side.domain.events import Translation

CHOICES = ("x", 400 * "😀", "\\N", "'\t\n")
FIELDS = (
    Field("text", "Text", "text", indexed=True, searchable=True),
    Field("rich", "Rich", "rich_text", searchable=True),
    Field("number", "Number", "number", indexed=True),
    Field("when", "When", "datetime", indexed=True),
    Field("span", "Span", "datetime", range=True, indexed=True),
    Field("json", "JSON", "json"),
    Field(
        "choices",
        "Choices",
        "select",
        multiple=True,
        options=tuple(Option(one, one) for one in CHOICES),
        indexed=True,
    ),
)
NUMBERS = (
    "-0",
    "0e999999",
    "-5e-324",
    "1E-5000",
    "1e-" + 3_000 * "9",
    "1e" + 3_000 * "0" + "1",
    "0." + 3_000 * "0" + "1",
    "1." + 3_000 * "9",
    300 * "9",
)
TIMES = (
    "0001-01-01",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999999-23:59",
    "2024-02-29t00:00z",
    "2026-01-31 09:30:00,5+05",
)
DOCUMENTS = (
    "1e999",
    "-" + 3_999 * "9",
    '{"a":1,"a":2,"":[]}',
    200 * "[" + 200 * "]",
    '"\\ud83d\\ude00\\u2028\\/"',
)


async def test_hard_texts_are_projected_and_rebuilt(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.workspace()
    await builder.content_type(*FIELDS)
    for language in ("en-US", "tr-TR", "ja-JP", "ar-EG"):
        for number, text in enumerate(HARD_TEXTS):
            values = raws(text=text, rich=f"<b>{text}</b> {text}")
            await builder.entry(
                f"{number}{text}"[:500],
                title=f"a{text}",
                language=language,
                fields=values,
                translations={"de-DE": Translation(f"a{text}", values)},
            )
    await assert_rebuilt_alike(database_url)


async def test_hard_values_are_projected_and_rebuilt(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.workspace()
    await builder.content_type(*FIELDS)
    values = {
        "number": NUMBERS,
        "when": [f'"{time}"' for time in TIMES],
        "span": [f'{{"from":"{time}","to":"{time}"}}' for time in TIMES],
        "json": DOCUMENTS,
    }
    changed = await builder.entry("changed", fields=raws(choices=CHOICES))
    for slug, given_values in values.items():
        for number, value in enumerate(given_values):
            fields = {slug: Raw(value.encode())}
            await builder.entry(f"{slug}{number}", fields=fields)
            await builder.update(changed, fields=fields)
    await assert_rebuilt_alike(database_url)


HARD = "unlucky"
WORDS, DOCUMENT = (entry_search, "words"), (entry_search, "search_document")
FAULTS: dict[str, tuple[tuple[ModuleType, str], Callable[[], Any]]] = {
    "ValueError": (WORDS, lambda: int("9" * 5_000)),
    "CharacterNotInRepertoireError": (WORDS, lambda: ["a\0b"]),
    "PostgresSyntaxError": (DOCUMENT, lambda: "'"),
    "ProgramLimitExceededError": (DOCUMENT, lambda: 3_000 * "a"),
}
"""What becomes of a hard text: the function, and what it does instead."""


@pytest.mark.parametrize("batch", [1, 2_000])
@pytest.mark.parametrize("fault", FAULTS)
async def test_an_entry_whose_words_fail_is_projected_without_words(
    fault: str,
    batch: int,
    builder: ContentBuilder,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (module, name), instead = FAULTS[fault]
    original = getattr(module, name)

    def faulty(*of_text: Any) -> Any:
        return instead() if HARD in str(of_text[:3]) else original(*of_text)

    monkeypatch.setattr(module, name, faulty)
    before = unsearchable()
    await builder.workspace()
    await builder.content_type(*FIELDS)
    values = raws(text=HARD)
    german = {"de-DE": Translation(f"Ein {HARD}", values)}
    entry_id = await builder.entry("hard", title="Hard", fields=values, translations=german)
    # From 64 entries on, a batch begins with COPY.
    await builder.imports([{"title": "Plain", "slug": f"plain{n}"} for n in range(64)])
    with capture_logs() as lines:
        await project_all(database_url, database_url, [batch])
    named = {"workspace": "acme", "entry": entry_id, "fault": fault}
    line = {"event": "an entry is not found by search", "log_level": "error", **named}
    assert lines == [line]
    assert unsearchable() == before + 1
    await builder.update(entry_id, title="Harder")
    await builder.revise_type(*FIELDS[1:])
    await builder.revise_type(*FIELDS)
    await project_all(database_url, database_url, [batch])
    counted = await rows(
        database_url, "SELECT words = '', count(*)::int FROM entry_search GROUP BY 1 ORDER BY 1"
    )
    assert counted == [(False, 64), (True, 2)]
    filtered = "SELECT count(*) FROM entry_value WHERE position = (SELECT min(position) FROM entry)"
    assert await rows(database_url, filtered) != [(0,)]
    await assert_rebuilt_alike(database_url)


def unsearchable() -> float:
    [metric] = entry_search.UNSEARCHABLE.collect()
    return metric.samples[0].value


async def test_a_fault_in_the_keys_of_an_entry_is_not_passed_over(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter that did not have the entry would be wrong."""

    def rows_of(*_: Any) -> Any:
        raise ValueError("of keys")

    monkeypatch.setattr(TypeValues, "rows", rows_of)
    await builder.magazine()
    await builder.entry("one")
    with pytest.raises(ValueError, match="of keys"):
        await project_all(database_url, database_url)


async def assert_rebuilt_alike(url: str) -> None:
    """Projects each event as a batch of its own, and then all in one batch."""
    await project_all(url, url, [1])
    projected = await dump(url)
    await rebuild(url)
    assert await dump(url) == projected
