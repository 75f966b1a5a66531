"""``select`` and ``include`` against a naive oracle, with random references, paths and members."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.integration.api.server import Client, Server
from tests.integration.api.shapes import TYPES, entry, file, put_media, write_types
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side import commands as c
from write_side.domain.definition import Field

READER = "secret-of-a-reader"
NUMBER = 3
"""Entries per type."""
FILES = ("hero", "face", "map")
FIELDS: dict[tuple[str, str], Field] = {
    (type_slug, field.slug): field for type_slug, fields in TYPES.items() for field in fields
}
LEADING = sorted({slug for (_, slug), field in FIELDS.items() if field.spec.refers_to})
MEMBERS: tuple[str, ...] = (
    "id",
    "title",
    "slug",
    "status",
    "stage",
    "locale",
    "publishedAt",
    "createdAt",
)
MEMBERS += ("updatedAt", "fields", "fields.body", "fields.author", "fields.related", "fields.bio")
numbers = itertools.count(1)
Entries = dict[str, dict[str, Any]]


def ids_of(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else value


def is_path(path: list[str], types: Iterable[str]) -> bool:
    """Whether every field on the path is a reference field of some type."""
    fields = [field for (of, slug), field in FIELDS.items() if slug == path[0] and of in types]
    targets: set[str] = set()
    for field in fields:
        if field.spec.refers_to == "entry":
            targets.update(field.to or TYPES)
    if len(path) == 1:
        return any(field.spec.refers_to for field in fields)
    return bool(targets) and is_path(path[1:], targets)


def walked(
    one: dict[str, Any], path: list[str], entries: Entries, found: set[str], media: set[str]
) -> None:
    """Follow one path recursively from one entry."""
    if not path:
        return
    field = FIELDS.get((one["contentType"]["slug"], path[0]))
    if field is None or not field.spec.refers_to:
        return
    for target in ids_of(one["fields"][field.slug]):
        if field.spec.refers_to == "media":
            media.add(target)
        elif target in entries:
            found.add(target)
            walked(entries[target], path[1:], entries, found, media)


def shown(one: dict[str, Any], members: list[str] | None) -> dict[str, Any]:
    if members is None:
        return one
    names = {"id", *members}
    slugs = {name.partition(".")[2] for name in names if "." in name}
    found = {name: value for name, value in one.items() if name in names}
    if slugs and "fields" not in found:
        fields = one["fields"].items()
        found["fields"] = {slug: value for slug, value in fields if slug in slugs}
    return found


async def write(builder: ContentBuilder, random: Random) -> None:
    """Create entries of three types with random references; delete an entry and a media file."""
    of_type: dict[str, list[str]] = {slug: [] for slug in TYPES}
    for type_slug, ids in of_type.items():
        for number in range(NUMBER):
            status = random.choice(["published", "published", "draft"])
            ids.append(await entry(builder, f"e{number}", type_slug, status))
    for type_slug, fields in TYPES.items():
        for one in of_type[type_slug]:
            values: dict[str, Any] = {}
            for field in fields:
                entries = [one for slug in field.to or TYPES for one in of_type[slug]]
                targets = entries if field.spec.refers_to == "entry" else FILES
                drawn = random.choices(targets, k=random.randrange(4))
                if field.spec.refers_to:
                    values[field.slug] = drawn if field.multiple else next(iter(drawn), None)
            await builder.update(one, fields=raws(**values))
    await builder.delete(random.choice([one for ids in of_type.values() for one in ids]))
    await builder.execute(c.RemoveMedia, workspace=builder.scope.workspace, media_id=FILES[2])


def any_paths(random: Random, path: str) -> list[str]:
    """One to four random paths; in 80% of cases all of them are valid."""
    found = [".".join(random.choices(LEADING, k=random.randint(1, 3))) for _ in range(200)]
    known = [one for one in found if is_path(one.split("."), types_of(path))]
    return random.choices(known if random.random() < 0.8 else found, k=random.randint(1, 4))


def types_of(path: str) -> list[str]:
    return list(TYPES) if path.startswith("/v1/content?") else [path.split("/")[3]]


async def check(
    client: Client, path: str, members: list[str] | None, paths: list[str]
) -> tuple[int, bool]:
    """Compare a response with the oracle; return its status and whether anything was included."""
    everything = await client.get("/v1/content?limit=100")
    entries: Entries = {one["id"]: one for one in everything.data}
    plain = await client.get(path)
    parameters = [f"include={','.join(paths)}"] if paths else []
    parameters += [] if members is None else [f"select={','.join(members)}"]
    answer = await client.get(f"{path}{'&' if '?' in path else '?'}{'&'.join(parameters)}")
    types = types_of(path)
    known = {slug for (of, slug) in FIELDS if of in types}
    slugs = {name[7:] for name in members or () if name.startswith("fields.")}
    if not slugs <= known or not all(is_path(one.split("."), types) for one in paths):
        assert answer.status == 400, answer.text
        return 400, False
    single = isinstance(plain.data, dict)
    page = [plain.data] if single else plain.data
    found: set[str] = set()
    media: set[str] = set()
    for one in page:
        for dotted in paths:
            walked(entries[one["id"]], dotted.split("."), entries, found, media)
    expected = [shown(one, members) for one in page]
    body = {**plain.body, "data": expected[0] if single else expected}
    if paths:
        body["includes"] = {
            "entries": {one: entries[one] for one in found},
            "media": {one: file(one) for one in media if one in FILES[:2]},
        }
    assert answer.body == body
    return 200, bool(found or media)


@pytest.fixture
def answered() -> Iterator[Counter[tuple[int, bool]]]:
    """Count the outcomes; each must occur often enough."""
    counted: Counter[tuple[int, bool]] = Counter()
    yield counted
    assert min(counted[400, False], counted[200, False], counted[200, True]) > 50, counted


@pytest.mark.slow
@settings(
    max_examples=40,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(random=st.randoms(use_true_random=True))
async def test_any_page_has_what_the_oracle_finds(
    random: Random, server: Server, answered: Counter[tuple[int, bool]]
) -> None:
    name = f"w{next(numbers)}"
    log = await server.workspace(name)
    await server.key(f"{READER}-{name}", name, ("content.published",))
    await write_types(log)
    await put_media(log, *FILES)
    await write(log, random)
    await server.caught_up()
    clients = (server.client(f"secret-of-{name}"), server.client(f"{READER}-{name}"))
    for _ in range(15):
        client = random.choice(clients)
        entries = (await client.get("/v1/content")).data
        singles = [f"/v1/content/{one['contentType']['slug']}/{one['slug']}" for one in entries]
        lists = ["/v1/content?limit=7&offset=1", *(f"/v1/content/{slug}" for slug in TYPES)]
        path = random.choice(random.choice([lists, singles or lists]))
        paths = random.choice([[], any_paths(random, path), any_paths(random, path)])
        members = random.choice([None, random.choices(MEMBERS, k=random.randint(1, 5))])
        if paths or members:
            answered[await check(client, path, members, paths)] += 1
