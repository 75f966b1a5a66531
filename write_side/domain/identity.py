"""Actors and scopes, and how streams, ids and slugs are made."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid
from typing import Literal

import uuid_utils
from msgspec import Struct

from write_side.domain.refusals import InvalidText
from write_side.domain.text import normalized

PRODUCTION = "production"
STAGING = "staging"
ENVIRONMENTS = (PRODUCTION, STAGING)
BASE_LANGUAGE = "en-US"
MAX_SLUG = 500
"""The length of an entry's slug, in characters. A derived slug is cut."""
_SLUG_SOURCE = 4_000
"""Characters of a title that are used for a slug; a title may have 2 MB."""

SLUG = "[a-z0-9][a-z0-9_-]{0,62}"
"""A regular expression for a whole slug, in syntax that Python and JSON Schema share."""
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]")
_SLUG = re.compile(SLUG)
_ID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Actor(Struct, frozen=True, omit_defaults=True):
    """An API key (id and name), an import (id), or an operator (name)."""

    kind: Literal["key", "import", "operator"]
    id: str
    name: str = ""


class Scope(Struct, frozen=True):
    """One environment of one workspace. All content belongs to exactly one scope."""

    workspace: str
    environment: str


def new_id() -> str:
    """A new UUIDv7: ids sort by the time of their creation."""
    return str(uuid_utils.uuid7())


def derived_id(origin: str, *parts: str) -> str:
    """The same UUIDv7 for the same origin and parts, for commands that may be sent again.

    Its time is that of the origin if the origin is a UUIDv7 (an import's id), else 0.
    """
    time = uuid.UUID(origin).int >> 80 if is_id(origin) and uuid.UUID(origin).version == 7 else 0
    digest = hashlib.sha256("\x1f".join((origin, *parts)).encode()).digest()
    chance = int.from_bytes(digest[:16]) & ((1 << 80) - 1)
    number = time << 80 | chance & ~(0xF << 76) & ~(0x3 << 62)
    return str(uuid.UUID(int=number | 7 << 76 | 2 << 62))


def is_id(text: str) -> bool:
    """Whether the text is a UUID in its canonical form."""
    return _ID.fullmatch(text) is not None


def is_slug(text: str) -> bool:
    """Whether the text may name a workspace, content type, field, environment or media file."""
    return _SLUG.fullmatch(text) is not None


def slug_from(title: str) -> str:
    """The slug of an entry without one (behaviour.md, 'Slugs'): its title in NFC and lower case,
    each character that is not alphanumeric replaced by a hyphen.

    Nothing is collapsed, trimmed or transliterated: ``Hello, World!`` gives ``hello--world-``.
    At most MAX_SLUG characters.
    """
    text = normalized("NFC", title[:_SLUG_SOURCE])
    text = normalized("NFC", text.lower())
    if text.isascii():
        return _NOT_ALPHANUMERIC.sub("-", text)[:MAX_SLUG]
    slug, in_word = [], False
    for character in text:
        category = unicodedata.category(character)[0]
        # Marks belong to the letter or digit before them: दिन and दान are different words.
        in_word = category in "LN" or (category == "M" and in_word)
        slug.append(character if in_word else "-")
    return "".join(slug)[:MAX_SLUG]


def check_entry_slug(slug: str) -> None:
    """Raises InvalidText if the slug is empty or unusable."""
    reason = "is empty; choose one" if not slug else unusable_slug(slug)
    if reason is not None:
        raise InvalidText(f"The slug {reason}")


def unusable_slug(slug: str) -> str | None:
    """Why no new entry can have the slug, or None. It may be too long, or ``.`` or ``..``, which
    clients remove from paths (RFC 3986, 5.2.4)."""
    if slug in (".", ".."):
        return f"{slug!r} cannot be part of a URL; choose another one"
    if len(slug) > MAX_SLUG:
        return f"has {len(slug)} characters; the limit is {MAX_SLUG}"
    return None


def slug_hash(slug: str) -> bytes:
    """Slugs are claimed and looked up by their sha256: a B-tree entry cannot hold a long one."""
    return hashlib.sha256(slug.encode()).digest()


def entry_stream(entry_id: str) -> str:
    return f"entry/{entry_id}"


def content_type_stream(content_type_id: str) -> str:
    return f"content-type/{content_type_id}"


def workspace_stream(slug: str) -> str:
    return f"workspace/{slug}"


def key_stream(key_id: str) -> str:
    return f"key/{key_id}"


def media_stream(workspace: str, media_id: str) -> str:
    return f"media/{workspace}/{media_id}"


def webhook_stream(workspace: str) -> str:
    """All endpoints of a workspace."""
    return f"webhook/{workspace}"


def import_stream(import_id: str) -> str:
    return f"import/{import_id}"


def import_mapping_stream(content_type_id: str) -> str:
    return f"import-mapping/{content_type_id}"
