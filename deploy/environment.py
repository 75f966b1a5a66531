"""Settings in the environment: what the variables say, and what is wrong with them.

Only `deploy` reads the environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from api.http.client_address import networks
from deploy.settings import (
    DEFAULT_MODEL,
    NAMES,
    PREFIX,
    PROXIES,
    SLUGS,
    NamedReadModel,
    Settings,
    SettingsError,
    urls_of,
    without_password,
)
from write_side.domain.identity import is_slug
from write_side.domain.refusals import nearest

NAME = "<NAME>"
"""Stands for the name of a read model in the documentation."""
SPECIAL_CHARACTERS = "; write special characters of a password as %XX, such as %2F for '/'"
_OPTIONS = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "target_session_attrs": (
        "any",
        "primary",
        "standby",
        "prefer-standby",
        "read-write",
        "read-only",
    ),
}
"""What asyncpg takes; its own refusal does not name the setting."""
_VARIABLES = {*Settings.__struct_encode_fields__} - {f"{PREFIX}NAMED_MODELS"}
"""The names of all settings but those of named read models."""
_KINDS = "|".join(NamedReadModel.__struct_encode_fields__)


class Setting(Struct, frozen=True):
    """The description of a setting. ``value`` is the one in use, without passwords."""

    name: str
    takes: str
    default: str
    meaning: str
    value: str


def load_settings(environment: Mapping[str, str]) -> Settings:
    """The settings of an environment; an empty variable counts as not set.

    Raises SettingsError naming the first variable that is not valid.
    """
    given = {name: value for name, value in environment.items() if value and name in _VARIABLES}
    try:
        settings = msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), given, _described(Settings, None)) from None
    for name in ("trusted_proxies", "webhook_networks"):
        try:
            networks(getattr(settings, name))
        except ValueError as error:
            raise SettingsError(f"{PREFIX}{name.upper()} takes {PROXIES}: {error}") from None
    if settings.owner_url and not settings.event_store_url:
        raise SettingsError(
            f"{PREFIX}OWNER_URL is set, but {PREFIX}EVENT_STORE_URL is not: set it to the same "
            "database, with the role that may only append and read"
        )
    named = replace(settings, named_models=dict(_named_models(environment)))
    for name in ("event_store_url", "read_model_url"):
        pool = name.replace("url", "pool_url")
        if getattr(settings, pool) and not getattr(settings, name):
            raise SettingsError(
                f"{PREFIX}{pool.upper()} is set, but {PREFIX}{name.upper()} is not: set it to the "
                "PostgreSQL behind the pooler"
            )
    for variable, value in environment.items():
        if variable in given or _named_setting(variable):
            _check_options(variable, value)
    _check_databases(named)
    return named


def _named_models(environment: Mapping[str, str]) -> Iterator[tuple[str, NamedReadModel]]:
    """Raises SettingsError."""
    found: dict[str, dict[str, str]] = {}
    for variable, value in environment.items():
        if value and (named := _named_setting(variable)):
            found.setdefault(named[1], {})[named[2]] = value
    for name, settings in sorted(found.items()):
        check_model_name(name.lower())
        prefix = _prefix(name)
        if "URL" not in settings:
            raise SettingsError(f"{prefix}{min(settings)} is set, but {prefix}URL is not")
        try:
            model = msgspec.convert(settings, NamedReadModel)
        except msgspec.ValidationError as error:
            values = {prefix + kind: value for kind, value in settings.items()}
            text = str(error).replace("$.", f"$.{prefix}")
            raise _refusal(text, values, _described(NamedReadModel, None, prefix)) from None
        wrong = next((slug for slug in model.slugs or () if not is_slug(slug)), None)
        if wrong is not None:
            raise SettingsError(f"{prefix}WORKSPACES takes {SLUGS}, not {wrong!r}")
        yield name.lower(), model


def _named_setting(variable: str) -> re.Match[str] | None:
    """The name and the kind of a named read model's setting; None for another variable."""
    found = re.fullmatch(rf"{_prefix('([A-Z][A-Z0-9]{0,30})')}({_KINDS})", variable)
    is_reserved = variable in _VARIABLES or (found and found[1] == DEFAULT_MODEL.upper())
    return None if is_reserved else found


def check_model_name(name: str) -> None:
    """Raises SettingsError if a setting of the read model would be one of another meaning."""
    fixed = [one for one in _VARIABLES if re.fullmatch(f"{_prefix(name.upper())}({_KINDS})", one)]
    if fixed:
        raise SettingsError(
            f"a read model cannot have the name '{name}', because {fixed[0]} is a setting of the "
            f"read model '{DEFAULT_MODEL}': choose another name"
        )


def _prefix(name: str) -> str:
    return f"{PREFIX}READ_MODEL_{name}_"


def _check_options(variable: str, value: str) -> None:
    """Raises SettingsError if an option of a URL has a value that asyncpg does not know."""
    if not variable.endswith(("_URL", "_URLS")):
        return
    for url in urls_of(value):
        for option, argument in parse_qsl(url.partition("?")[2]):
            takes = _OPTIONS.get(option)
            if takes and argument not in takes:  # It is not shown: it may be a part of a password.
                raise SettingsError(f"{variable}: {option} takes {' | '.join(takes)}")


def _check_databases(settings: Settings) -> None:
    """Raises SettingsError if two read models have the same URL."""
    known: dict[str, str] = {}
    urls = [(f"{PREFIX}READ_MODEL_URL", settings.read_model_url)]
    urls += (
        (f"{_prefix(name.upper())}URL", one.url) for name, one in settings.named_models.items()
    )
    for setting, url in urls:
        if url and (first := known.setdefault(without_password(url), setting)) != setting:
            raise SettingsError(
                f"{first} and {setting} name the same database: each read model needs its own"
            )


def describe(settings: Settings) -> list[Setting]:
    """All settings, in the order of the documentation. Without a named read model, its settings
    have a placeholder as name."""
    named: Mapping[str, NamedReadModel | None] = settings.named_models or {NAME: None}
    described = list(_described(Settings, settings))
    for name, model in named.items():
        described += _described(NamedReadModel, model, _prefix(name.upper()))
    return described


def unknown_names(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like settings but are not, sorted, each with a warning."""
    known = {name.removeprefix(PREFIX) for name in _VARIABLES}
    given = (name.removeprefix(PREFIX) for name in sorted(environment) if name.startswith(PREFIX))
    return {
        PREFIX + name: _unknown(name, known)
        for name in given
        if not name.startswith("TEST_") and name not in known and not _named_setting(PREFIX + name)
    }


def _unknown(name: str, known: Iterable[str]) -> str:
    """Compares names without the prefix, because the prefix makes any two of them similar."""
    if re.fullmatch(rf"READ_MODEL_\w+_({_KINDS})", name):
        return (
            f"'{PREFIX}{name}' is set, but the name of a read model takes {NAMES}, and not "
            f"'{DEFAULT_MODEL}'"
        )
    meant = nearest(name, known)
    hint = f"; did you mean '{PREFIX}{meant}'?" if meant else ""
    return f"'{PREFIX}{name}' is set, but there is no such setting{hint}"


def _refusal(error: str, given: Mapping[str, str], settings: Iterable[Setting]) -> SettingsError:
    found = re.search(rf"\$\.({PREFIX}\w+)", error)
    assert found is not None, error
    takes = {setting.name: setting.takes for setting in settings}[found[1]]
    value = given[found[1]]
    if not found[1].endswith(("_URL", "_URLS")):
        hint = f", not {value!r}"
    else:  # A mistyped URL may still contain a password.
        hint = SPECIAL_CHARACTERS if re.match(r"\s*postgres(ql)?://", value) else ""
    return SettingsError(f"{found[1]} takes {takes}{hint}")


def _described(kind: type[Struct], settings: Struct | None, prefix: str = "") -> Iterator[Setting]:
    """``prefix``: of the variables, if the names of the fields lack it."""
    hints = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        if field.name == "named_models":
            continue
        about = _metadata(hints[field.name])
        extra: dict[str, str] = {}
        for meta in about:
            extra |= (meta.extra or {}) if isinstance(meta, Meta) else {}
        default = extra.get("default") or str(field.default)
        value = getattr(settings, field.name, None)
        yield Setting(
            name=prefix + field.encode_name,
            takes=extra["takes"],
            default=default,
            meaning=next(text for text in about if isinstance(text, str)),
            value=default if value in (None, "") else without_password(str(value)),
        )


def _metadata(hint: Any) -> list[object]:
    """The metadata of an annotation, including that of the members of a union."""
    inner = [meta for part in getattr(hint, "__args__", ()) for meta in _metadata(part)]
    return [*inner, *getattr(hint, "__metadata__", ())]
