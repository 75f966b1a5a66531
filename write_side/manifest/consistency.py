"""Checks that a manifest is consistent in itself, by the rules of the domain."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from write_side.domain.definition import (
    Field,
    check_definition,
    check_name,
    check_not_blank,
    check_slug,
)
from write_side.domain.identity import ENVIRONMENTS, STAGING
from write_side.domain.refusals import InvalidDefinition
from write_side.domain.webhook import check_number, check_selection, check_url, secret_bytes
from write_side.domain.workspace import check_media_url, check_permissions
from write_side.manifest.document import SHORTEST_SECRET, Manifest
from write_side.manifest.source import Path, Source


def check_consistency(manifest: Manifest, source: Source) -> None:
    """Notes every problem in the source."""
    with source.at("workspace"):
        check_slug(manifest.workspace, "The slug")
    with source.at("name"):
        check_name(manifest.name, "The name")
    _check_keys(manifest, source)
    _check_media(manifest, source)
    _check_webhooks(manifest, source)
    _check_types(manifest, source)
    _note_targets(manifest, source)


def _check_keys(manifest: Manifest, source: Source) -> None:
    names, secrets = set[Hashable](), set[Hashable]()
    for index, key in enumerate(manifest.keys):
        with source.at("keys", index, "name"):
            check_name(key.name, "The name")
            _check_unique(key.name, names, f"the name {key.name!r} occurs twice")
        with source.at("keys", index, "permissions"):
            check_permissions(key.permissions)
        with source.at("keys", index, "expires"):
            # A duration would end later each time the manifest is applied.
            key.desired_expiry(None)
        with source.at("keys", index, "secret"):
            if key.secret is not None:
                check_secret(key.secret)
                _check_unique(key.secret, secrets, "two keys have the same secret")


def check_secret(secret: str) -> None:
    """Raises InvalidDefinition if it is too short or cannot be sent in a header."""
    if len(secret) < SHORTEST_SECRET:
        raise InvalidDefinition(f"must have at least {SHORTEST_SECRET} characters")
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise InvalidDefinition("must contain only printable ASCII characters, without spaces")


def _check_media(manifest: Manifest, source: Source) -> None:
    ids = set[Hashable]()
    for index, file in enumerate(manifest.media):
        with source.at("media", index, "id"):
            check_slug(file.id, "The id")
            _check_unique(file.id, ids, f"the id {file.id!r} occurs twice")
        for key, text in (
            ("url", file.url),
            ("name", file.name),
            ("contentType", file.content_type),
        ):
            with source.at("media", index, key):
                check_not_blank(text, "The text")
        with source.at("media", index, "url"):
            check_media_url(file.url)


def _check_webhooks(manifest: Manifest, source: Source) -> None:
    names = set[Hashable]()
    with source.at("webhooks"):
        check_number(len(manifest.webhooks))
    for index, webhook in enumerate(manifest.webhooks):
        path = ("webhooks", index)
        with source.at(*path, "name"):
            check_slug(webhook.name, "The name")
            _check_unique(webhook.name, names, f"the name {webhook.name!r} occurs twice")
        with source.at(*path, "url"):
            check_url(webhook.url)
        with source.at(*path, "types"):
            check_selection(webhook.types or (), ())
        with source.at(*path, "secret"):
            if webhook.secret is not None:
                secret_bytes(webhook.secret)


def _check_types(manifest: Manifest, source: Source) -> None:
    slugs = set[Hashable]()
    has_staging = STAGING in manifest.environments
    for index, content_type in enumerate(manifest.content_types):
        path = ("contentTypes", index)
        with source.at(*path, "slug"):
            check_slug(content_type.slug, "The slug")
            for environment in filter(content_type.applies, ENVIRONMENTS):
                text = f"the slug {content_type.slug!r} occurs twice in {environment}"
                _check_unique((environment, content_type.slug), slugs, text)
        if STAGING in content_type.environments and not has_staging:
            where = (*path, "environments", content_type.environments.index(STAGING))
            source.add(source.original(where), "list staging under environments too")
        check_definition(
            content_type.name,
            content_type.desired_fields(),
            content_type.desired_stages(),
            lambda *place, path=path: source.at(*path, *(_in_manifest(place))),
        )


def _in_manifest(place: Path) -> Path:
    return ("workflow", *place) if place[0] == "stages" else place


def _check_unique(value: Hashable, seen: set[Hashable], message: str) -> None:
    if value in seen:
        raise InvalidDefinition(message)
    seen.add(value)


def _note_targets(manifest: Manifest, source: Source) -> None:
    """Notes content types that only the workspace may have: those of references and webhooks."""
    declared = dict.fromkeys(sorted(one.slug for one in manifest.content_types))

    def check(where: Path, slug: str, consequence: str) -> None:
        if slug not in declared:
            text = f"no content type {slug!r} in the manifest; {consequence}"
            suggestion = source.suggestion(slug, declared)
            source.add(where, text, is_note=True, suggestion=suggestion)

    for index, content_type in enumerate(manifest.content_types):
        for path, target in targets(content_type.desired_fields()):
            check(("contentTypes", index, *path), target, "apply expects it in the workspace")
    for index, webhook in enumerate(manifest.webhooks):
        for number, slug in enumerate(webhook.types or ()):
            where = ("webhooks", index, "types", number)
            check(where, slug, "nothing is delivered unless the workspace has it")


def targets(fields: Iterable[Field], within: Path = ("fields",)) -> Iterator[tuple[Path, str]]:
    """(path within the type, slug of a content type) of each target of a type's fields."""
    for index, field in enumerate(fields):
        path = (*within, index)
        yield from (((*path, "to", number), target) for number, target in enumerate(field.to))
        yield from targets(field.fields, (*path, "fields"))
