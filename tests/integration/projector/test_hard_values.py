"""Values that are hard to derive words and keys from, or to store: whatever a write accepts can be
projected and rebuilt. One event that cannot would halt the projector for all workspaces."""

from __future__ import annotations

from msgspec import Raw

from tests.integration.live_projector import dump, project_all
from tests.integration.projector.command_strategies import HARD_TEXTS
from tests.integration.projector.rebuilds import rebuild
from tests.integration.projector.sample_log import Given, raws
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


async def test_hard_texts_are_projected_and_rebuilt(given: Given, database_url: str) -> None:
    await given.workspace()
    await given.content_type(*FIELDS)
    for language in ("en-US", "tr-TR", "ja-JP", "ar-EG"):
        for number, text in enumerate(HARD_TEXTS):
            values = raws(text=text, rich=f"<b>{text}</b> {text}")
            await given.entry(
                f"{number}{text}"[:500],
                title=f"a{text}",
                language=language,
                fields=values,
                translations={"de-DE": Translation(f"a{text}", values)},
            )
    await assert_rebuilt_alike(database_url)


async def test_hard_values_are_projected_and_rebuilt(given: Given, database_url: str) -> None:
    await given.workspace()
    await given.content_type(*FIELDS)
    values = {
        "number": NUMBERS,
        "when": [f'"{time}"' for time in TIMES],
        "span": [f'{{"from":"{time}","to":"{time}"}}' for time in TIMES],
        "json": DOCUMENTS,
    }
    changed = await given.entry("changed", fields=raws(choices=CHOICES))
    for slug, given_values in values.items():
        for number, value in enumerate(given_values):
            fields = {slug: Raw(value.encode())}
            await given.entry(f"{slug}{number}", fields=fields)
            await given.update(changed, fields=fields)
    await assert_rebuilt_alike(database_url)


async def assert_rebuilt_alike(url: str) -> None:
    """Projects each event as a batch of its own, and then all in one batch."""
    await project_all(url, url, [1])
    projected = await dump(url)
    await rebuild(url)
    assert await dump(url) == projected
