"""The fields of the form with which a file is imported over HTTP."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec.structs import FieldInfo, fields

from api.context import Call
from api.errors import BadRequest
from api.imports.multipart_form import FileForm
from write_side.domain.events import STATUSES
from write_side.domain.locales import check_locale
from write_side.domain.refusals import shortened
from write_side.imports.encodings import ENCODINGS
from write_side.imports.jobs import JobOptions
from write_side.imports.request import REPEATS, ImportRequest
from write_side.imports.table import DELIMITERS, Choice

MISSING = "Missing required parts: file and contentType"
_MAP = re.compile(r"map\[(.+)\]", re.DOTALL)
_FIXED = ("scope", "content_type_slug", "import_id", "targets", "key")
_BOOLEANS = {"true": True, "false": False}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


OPTIONS: Mapping[str, FieldInfo] = {
    _camel(field.name): field for field in fields(ImportRequest) if field.name not in _FIXED
}
"""The options of an import, by the names of their parts."""
CHOICES: Mapping[str, Collection[str]] = {
    "repeats": REPEATS,
    "status": STATUSES,
    "encoding": ENCODINGS,
    "delimiter": DELIMITERS,
}
READING = ("sheet", "encoding", "delimiter")


def import_options(call: Call, form: FileForm, import_id: str) -> JobOptions:
    """Raises BadRequest, which names the part. An empty part counts as absent, except the
    target of a column, and ``dryRun``: a script whose variable is not set must not import."""
    given = {name: text for name, text in form.fields.items() if text or name == "dryRun"}
    content_type, dry_run = given.pop("contentType", ""), given.pop("dryRun", "false")
    if not content_type.strip() or not form.name:
        raise BadRequest(MISSING)
    maps, key = tuple(_maps(form.fields)), given.pop("key", None)
    unknown = [
        name for name in given if name not in (*OPTIONS, *READING) and not _MAP.fullmatch(name)
    ]
    if unknown:
        known = ", ".join(("contentType", *OPTIONS, "key", "dryRun", *READING, "map[COLUMN]"))
        raise BadRequest(f"Unknown part {unknown[0]!r}; expected one of: file, {known}")
    options: dict[str, Any] = {
        option.name: _boolean(name, given[name]) if option.type is bool else _text(name, given)
        for name, option in OPTIONS.items()
        if name in given
    }
    request = ImportRequest(call.scope, content_type, import_id, **options)
    check_locale(request.language, "language")
    return JobOptions(
        request=request,
        choice=Choice(
            given.get("sheet"),
            _text("encoding", given),
            DELIMITERS.get(_text("delimiter", given) or ""),
        ),
        maps=maps,
        key=key,
        is_dry_run=_boolean("dryRun", dry_run),
        by=call.actor,
        request_id=call.request_id,
    )


def _maps(parts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Pairs of a column and its target; an empty target means not imported."""
    for name, target in parts.items():
        if match := _MAP.fullmatch(name):
            yield match[1], target


def _boolean(name: str, text: str) -> bool:
    if text not in _BOOLEANS:
        raise BadRequest(f"{name} takes true or false, not {shortened(text)!r}")
    return _BOOLEANS[text]


def _text(name: str, given: Mapping[str, str]) -> str | None:
    text, choices = given.get(name), CHOICES.get(name)
    if text is not None and choices is not None and text not in choices:
        raise BadRequest(f"{name} takes one of {', '.join(choices)}, not {shortened(text)!r}")
    return text
