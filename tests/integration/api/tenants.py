"""Hypothesis strategies for workspaces that are as similar as possible and must stay isolated."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from hypothesis import strategies as st
from msgspec import Struct

from tests.integration.api.server import Server
from tests.integration.projector.sample_log import BODY, ContentBuilder, raws
from write_side import commands as c
from write_side.domain.definition import Field
from write_side.domain.events import Status, Translation
from write_side.domain.identity import Scope

RELATED = Field("related", "Related", "reference", multiple=True)
COVER = Field("cover", "Cover", "media")
TYPES = ("posts", "pages", "authors")
SLUGS = ("hello", "about", "news")
LANGUAGES = ("en-US", "de-DE")
STATUSES: tuple[Status, ...] = ("draft", "published", "archived")
ENVIRONMENTS = ("production", "staging")


class Entry(Struct, frozen=True):
    environment: str
    type: str
    slug: str
    language: str
    status: Status
    translated: bool

    @property
    def unique_key(self) -> tuple[str, str, str, str]:
        """The key that must be unique among entries."""
        return (self.environment, self.type, self.language, self.slug)


class Tenant(Struct, frozen=True):
    """The content of a workspace. Its entries use only its types and environments."""

    environments: tuple[str, ...]
    types: tuple[str, ...]
    entries: tuple[Entry, ...]


def _entries(environments: tuple[str, ...], types: tuple[str, ...]) -> st.SearchStrategy[Entry]:
    return st.builds(
        Entry,
        st.sampled_from(environments),
        st.sampled_from(types),
        st.sampled_from(SLUGS),
        st.sampled_from(LANGUAGES),
        st.sampled_from(STATUSES),
        st.booleans(),
    )


@st.composite
def _tenant(draw: st.DrawFn) -> Tenant:
    environments = ENVIRONMENTS[: draw(st.integers(1, 2))]
    types = tuple(draw(st.lists(st.sampled_from(TYPES), unique=True)))
    if not types:
        return Tenant(environments, (), ())
    entries = _entries(environments, types)
    some = draw(st.lists(entries, max_size=5, unique_by=lambda entry: entry.unique_key))
    return Tenant(environments, types, tuple(some))


def tenants(n: int) -> st.SearchStrategy[list[Tenant]]:
    return st.lists(_tenant(), min_size=n, max_size=n)


class StoredTenant(Struct):
    """A tenant that has been written to the store. ``ids``: the id of each entry."""

    name: str
    tenant: Tenant
    ids: dict[Entry, str]

    @property
    def secret(self) -> str:
        return f"secret-of-{self.name}"

    @property
    def media(self) -> str:
        return f"cover-of-{self.name}"

    def entries(self, environment: str) -> Iterator[tuple[Entry, str]]:
        return ((entry, one) for entry, one in self.ids.items() if entry.environment == environment)


async def store_tenant(server: Server, name: str, tenant: Tenant) -> StoredTenant:
    """Writes the tenant to the store. Its texts name the workspace and environment that own
    them."""
    manifest = {
        one: ContentBuilder(server.repository, Scope(name, one)) for one in tenant.environments
    }
    await manifest["production"].workspace(staging=True)
    await server.key(f"secret-of-{name}", name)
    await manifest["production"].execute(
        c.PutMedia,
        workspace=name,
        media_id=f"cover-of-{name}",
        url=f"https://cdn.example.com/{name}.png",
        name=f"{name}.png",
        content_type="image/png",
    )
    for environment in tenant.environments:
        if environment == "staging":
            await manifest[environment].execute(c.AddEnvironment, scope=manifest[environment].scope)
        for slug in tenant.types:
            await manifest[environment].content_type(BODY, RELATED, COVER, slug=slug)
    made = [_create_entry(manifest[entry.environment], entry) for entry in tenant.entries]
    return StoredTenant(name, tenant, dict(await asyncio.gather(*made)))


async def _create_entry(builder: ContentBuilder, entry: Entry) -> tuple[Entry, str]:
    owner = f"of-{builder.scope.workspace}-in-{builder.scope.environment}"
    translations = {"fr-FR": Translation(f"traduit {owner}", {})} if entry.translated else {}
    created = await builder.execute(
        c.CreateEntry,
        scope=builder.scope,
        content_type_slug=entry.type,
        slug=entry.slug,
        title=f"{entry.slug} {owner}",
        language=entry.language,
        status=entry.status,
        fields=raws(body=owner),
        translations=translations,
    )
    return entry, created.entry_id
