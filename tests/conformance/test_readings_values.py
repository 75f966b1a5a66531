"""Our readings: values of fields."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from api.errors import status_of
from tests.conformance.cases import Case, Expectation, Request, create, post, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import all_fields, fields, header, no_header, says
from tests.conformance.isolated_workspace import OpenWorkspace
from tests.conformance.magazine import AT_DESK, BOB, NOBODY, NOTHING, POSTS, SECRET
from tests.integration.api.server import Answer
from write_side.domain.definition import Field
from write_side.domain.refusals import InvalidDefinition, MissingFields

pytestmark = pytest.mark.asyncio(loop_scope="package")

ADA = AT_DESK.format("aa")
TAKEN = AT_DESK.format("bb")

Texts = tuple[str, ...]
RULES: tuple[tuple[str, str, str, Texts, Texts], ...] = (
    (
        "values.8",
        "lead",
        "a string",
        ('""', '"x"', r'"a\nb\t\"c\""', '"日本 🙂"', r'"\u00e9"'),
        ("7", "true", '["x"]', '{"text":"x"}'),
    ),
    (
        "values.8",
        "body",
        "a string",
        ('"<p>x</p>"', r'"<\/p>"'),
        ("0", "false", '{"type":"doc"}'),
    ),
    (
        "values.9",
        "views",
        "a finite number",
        ("0", "-0", "-1", "1.50", "1e300", "1E5", "-1.5e-7", "9" * 300, "0.1" + "0" * 99),
        ('"7"', "true", "[7]", "{}", "1e999", "-1e999", "9" * 400),
    ),
    (
        "values.10",
        "featured",
        "true or false",
        ("true", "false"),
        ("0", "1", '"true"', '"yes"', "[]"),
    ),
    (
        "values.11",
        "goes_live",
        "ISO 8601",
        (
            '"2026-01-31"',
            '"2026-01-31T09:30"',
            '"2026-01-31T09:30:00"',
            '"2026-01-31T09:30:00.123Z"',
            '"2026-01-31T09:30:00+02:00"',
            '"2024-02-29"',
        ),
        (
            '""',
            '"soon"',
            '"31.01.2026"',
            '"2026-02-30"',
            '"2026-13-01"',
            '"2026-01-31T25:00"',
            '"2026"',
            "20260131",
            '{"from":"2026-01-01","to":"2026-02-01"}',
        ),
    ),
    (
        "values.12",
        "campaign",
        "from",
        (
            '{"from":"2026-01-01","to":"2026-02-01"}',
            '{"from":"2026-01-01T00:00:00Z","to":"2026-02-01T00:00:00Z"}',
            '{"to":"2026-02-01","from":"2026-01-01"}',
        ),
        (
            '"2026-01-01"',
            '{"from":"2026-01-01"}',
            '{"to":"2026-01-01"}',
            '{"from":"2026-01-01","to":null}',
            '{"from":"2026-01-01","to":"later"}',
            '{"from":"2026-01-01","to":"2026-02-01","at":"2026-01-15"}',
            '["2026-01-01","2026-02-01"]',
            "{}",
        ),
    ),
    (
        "values.13",
        "category",
        "news, howto",
        ('"news"', '"howto"'),
        ('"News"', '"other"', '""', '["news"]', "0"),
    ),
    (
        "values.13",
        "tags",
        "news, howto",
        ("[]", '["news"]', '["howto","news"]'),
        ('"news"', '["other"]', '["news",null]', '{"news":true}'),
    ),
    (
        "values.14",
        "author",
        "",
        (f'"{ADA}"',),
        (
            f'"{NOBODY}"',
            f'"{TAKEN}"',
            f'"{BOB}"',
            f'"{SECRET}"',
            '"ada"',
            '""',
            "7",
            f'["{ADA}"]',
            f'{{"id":"{ADA}"}}',
        ),
    ),
    (
        "values.14",
        "related",
        "",
        ("[]", f'["{TAKEN}"]', f'["{ADA}","{TAKEN}","{ADA}"]'),
        (f'"{TAKEN}"', f'["{NOBODY}"]', f'["{ADA}","{BOB}"]', "[null]", f'[["{TAKEN}"]]'),
    ),
    (
        "values.15",
        "cover",
        "",
        ('"hero"',),
        ('"nothing"', '""', '"https://cdn.example.com/hero.png"', '["hero"]', "7"),
    ),
    ("values.15", "gallery", "", ('["hero","map"]', "[]"), ('"hero"', '["hero","nothing"]')),
    (
        "values.16",
        "meta",
        "",
        (
            '"text"',
            "7.10",
            "true",
            "[]",
            "{}",
            '[1,[null,{"b":1,"a":[2]}]]',
            r'{"b":{"_":1.50},"a":"é\u00e9"}',
        ),
        (),
    ),
    (
        "values.17",
        "faq",
        "",
        ("[]", "[{}]", '[{"q":"Why?","votes":3.0},{"votes":null}]'),
        ("{}", '"x"', "[1]", "[null]", '[{"q":7}]', '[{"q":"Why?"},{"votes":"many"}]'),
    ),
)
"""The number of the reading, a field, what it accepts, JSON that fits and JSON that does not."""


def valued(title: str, field: str, value: str) -> Request:
    """Creates an entry with one value, sent exactly as given."""
    body = f'{{"contentTypeSlug":"posts","title":"{title}","fields":{{"{field}":{value}}}}}'
    return post(body.encode())


def gives_back(field: str, value: str) -> Expectation:
    """The response contains the value exactly as sent."""

    def expect(answer: Answer) -> None:
        assert f'"{field}":{value}' in answer.text

    return expect


def each_rule() -> Iterator[Case]:
    for number, field, takes, fitting, others in RULES:
        for n, value in enumerate(fitting):
            yield Case(
                f"{number} {field} takes {value[:60]}",
                valued(f"{field} {n}", field, value),
                200,
                gives_back(field, value),
            )
        for value in others:
            yield Case(
                f"{number} {field} refuses {value[:60]}",
                valued("Refused", field, value),
                400,
                says(f"'{field}", takes),
            )


def each_emptied() -> Iterator[Case]:
    """An empty field is null, or [] if it holds many values."""
    for field, nothing in NOTHING.items():
        yield Case(
            f"values.2 null empties {field}",
            create(f"Empty {field}", fields={field: None}),
            200,
            fields(**{field: nothing}),
        )


@table(
    *each_rule(),
    *each_emptied(),
    Case(
        "values.1 the field and what it takes are named",
        create("A", fields={"lead": "fine", "views": "many"}),
        400,
        says("'views'", "a finite number"),
    ),
    Case(
        "values.1 a field in a repeater is named with its place",
        create("A", fields={"faq": [{"q": "Why?"}, {"q": 7}]}),
        400,
        says("'faq[1].q'", "a string"),
    ),
    Case(
        "values.3 required is not demanded of a draft",
        create("Without its body", fields={"lead": "L"}),
        200,
        fields(body=None, lead="L"),
    ),
    Case(
        "values.5 unknown field slugs are ignored, whatever they hold",
        create("Unknown slugs", fields={"nonsense": [{"deep": None}], "Views": "many", "": 1}),
        200,
        all_fields(NOTHING),
    ),
    Case(
        "values.19 ignored slugs are named, those in a repeater after its own",
        create("Named", fields={"vews": 1, "lead": "L", "Größe": 1, "faq": [{"q": "?", "a": 1}]}),
        200,
        header("X-Content-Ignored", "vews, Gr%C3%B6%C3%9Fe, faq.a"),
    ),
    Case(
        "values.19 nothing is named where nothing is ignored",
        create("Nothing ignored", fields={"views": 1}),
        200,
        no_header("X-Content-Ignored"),
    ),
    Case(
        "values.17 unknown slugs in a repeater are ignored",
        create("Unknown in a repeater", fields={"faq": [{"q": "Why?", "nonsense": 1}]}),
        200,
        fields(faq=[{"q": "Why?"}]),
    ),
    Case(
        "values.18 a section takes nothing and is never shown",
        create("With a section", fields={"intro": {"any": 1}, "layout": 7}),
        200,
        all_fields(NOTHING),
    ),
)
async def test_values(case: Case, client: CheckedClient) -> None:
    await client.check(case)


async def test_values_4_publishing_demands_required_fields(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    entry_id = (await workspace.create("Not ready")).data["id"]
    with pytest.raises(MissingFields, match="body") as refused:
        await workspace.builder.update(entry_id, status="published")
    assert status_of(refused.value) == 400
    assert (await workspace.read("/v1/content/posts/not-ready"))["status"] == "draft"


async def test_values_6_values_are_returned_as_sent_in_every_read(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    value = r'{"b":[1.50,1e2,-0],"a":{"_":"x"},"é":"\u00e9\ud83d\ude00"}'
    created = await workspace.send(valued("Sent", "meta", value))
    listed = await workspace.get("/v1/content/posts?status=draft")
    single = await workspace.get("/v1/content/posts/sent")
    for answer in (created, listed, single, await workspace.get("/v1/content")):
        gives_back("meta", value)(answer)


async def test_values_6_references_and_media_are_returned_as_ids(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    author = (await workspace.create("Ada", type_slug="authors")).data["id"]
    sent = {"author": author, "related": [author], "cover": "hero", "gallery": ["map"]}
    await workspace.create("Sent", fields=sent)
    shown = (await workspace.read("/v1/content/posts/sent"))["fields"]
    assert {name: shown[name] for name in sent} == sent


@pytest.mark.parametrize(
    "changed",
    [
        Field("author", "Author", "reference", multiple=True),
        Field("goes_live", "Goes live", "datetime", range=True),
        Field("views", "Views", "text"),
    ],
    ids=lambda field: str(field.slug),
)
async def test_values_7_multiple_and_range_belong_to_a_fields_type(
    changed: Field, open_workspace: OpenWorkspace
) -> None:
    workspace = await open_workspace()
    others = [field for field in POSTS if field.slug != changed.slug]
    with pytest.raises(InvalidDefinition, match=changed.slug):
        await workspace.builder.revise_type(*others, changed)
