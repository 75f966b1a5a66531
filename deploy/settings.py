"""The settings of an installation: what each means, its default, and what it takes.

They are documented only here: `contentlog settings` prints them, and a test compares the table in
deploy/docs/operations.md with them. Only `deploy` reads the environment; every process gets its
settings as a frozen Struct.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, get_type_hints
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from api.http.client_address import Network, networks
from write_side.domain.identity import is_slug
from write_side.domain.suggestion import nearest
from write_side.postgres.pooler import PoolerUrl

PREFIX = "CONTENTLOG_"
DEFAULT_MODEL = "default"
NAME = "<NAME>"
"""Stands for the name of a read model in the documentation."""
NAMES = "1 to 31 letters and digits, beginning with a letter"
SLUGS = "slugs of workspaces, separated by commas"

Url = Annotated[
    str,
    Meta(
        pattern=r"^postgres(ql)?://",
        extra={
            "takes": "a PostgreSQL URL, such as postgresql://user:password@host:5432/database",
            "default": "the embedded PostgreSQL",
        },
    ),
]
PoolUrl = Annotated[
    str,
    Meta(
        pattern=r"^postgres(ql)?://",
        extra={
            "takes": "a PostgreSQL URL, such as postgresql://user:password@host:6432/database",
            "default": "no pooler",
        },
    ),
]
Urls = Annotated[
    str,
    Meta(
        pattern=r"^(\s*postgres(ql)?://[^\s]*)?$",
        extra={"takes": "PostgreSQL URLs, separated by commas", "default": "none"},
    ),
]
ModelUrl = Annotated[
    str, Meta(pattern=r"^postgres(ql)?://", extra={"takes": "a PostgreSQL URL", "default": "none"})
]
ModelName = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9]{0,30}$", extra={"takes": f"a name: {NAMES}"})
]
Slugs = Annotated[str, Meta(extra={"takes": SLUGS, "default": "all"})]
Text = Annotated[str, Meta(min_length=1, extra={"takes": "text"})]
Port = Annotated[int, Meta(ge=1, le=65535, extra={"takes": "a whole number from 1 to 65535"})]
Workers = Annotated[int, Meta(ge=1, le=256, extra={"takes": "a whole number from 1 to 256"})]
Bytes = Annotated[int, Meta(ge=1024, extra={"takes": "a whole number of bytes from 1024"})]
Milliseconds = Annotated[
    int, Meta(ge=0, le=60_000, extra={"takes": "a whole number of milliseconds from 0 to 60000"})
]
RateLimit = Annotated[
    int, Meta(ge=0, le=10**12, extra={"takes": "a whole number of requests; 0 is no limit"})
]
CostLimit = Annotated[
    int, Meta(ge=0, le=10**12, extra={"takes": "a whole number of units; 0 is no limit"})
]
CacheBytes = Annotated[
    int, Meta(ge=0, le=2**40, extra={"takes": "a whole number of bytes; 0 is no cache"})
]
Days = Annotated[int, Meta(ge=0, le=36_500, extra={"takes": "a whole number of days; 0 is all"})]
Streams = Annotated[int, Meta(ge=0, le=100_000, extra={"takes": "a whole number of streams"})]
PROXIES = "addresses and CIDR networks, separated by commas"
Flag = Annotated[bool, Meta(extra={"takes": "true or false", "default": "true"})]
Switch = Annotated[bool, Meta(extra={"takes": "true or false", "default": "false"})]
Proxies = Annotated[str, Meta(extra={"takes": PROXIES, "default": "none"})]
LogFormat = Annotated[
    Literal["json", "text"],
    Meta(
        extra={
            "takes": "json or text",
            "default": "text on a terminal and for commands that end, else json",
        }
    ),
]


class SettingsError(Exception):
    """A setting is not valid; the text is one line that names it and says what it takes."""


class NamedReadModel(Struct, frozen=True, kw_only=True, rename="upper"):
    """The settings of a read model besides the default one; their names contain its name."""

    url: Annotated[
        ModelUrl,
        Meta(
            description="The database of another read model, which `--read-model` selects by its "
            "name in lower case"
        ),
    ]
    pool_url: Annotated[
        PoolUrl | None, Meta(description="The same database through a pooler in transaction mode")
    ] = None
    workspaces: Annotated[
        Slugs,
        Meta(
            description="The workspaces that this read model holds; after a change it needs a "
            "rebuild"
        ),
    ] = ""
    replica_urls: Annotated[Urls, Meta(description="Standbys of this read model's PostgreSQL")] = ""

    @property
    def slugs(self) -> tuple[str, ...] | None:
        """``workspaces``, sorted; None for all."""
        found = {slug.strip() for slug in self.workspaces.split(",")}
        return tuple(sorted(found)) if self.workspaces else None

    @property
    def replicas(self) -> tuple[str, ...]:
        """``replica_urls``."""
        return urls_of(self.replica_urls)


class Settings(
    Struct, frozen=True, kw_only=True, rename=lambda attribute: PREFIX + attribute.upper()
):
    """The settings of an environment; None if one is not set and has no plain default."""

    event_store_url: Annotated[Url | None, Meta(description="The database of the event log")] = None
    owner_url: Annotated[
        Url | None,
        Meta(
            description="The database of the event log, as the owner of its tables; for "
            "`contentlog migrate` and `verify --repair`",
            extra={"default": "CONTENTLOG_EVENT_STORE_URL"},
        ),
    ] = None
    read_model_url: Annotated[
        Url | None, Meta(description="The database of the read model; may be the same one")
    ] = None
    event_store_pool_url: Annotated[
        PoolUrl | None,
        Meta(
            description="The same database as CONTENTLOG_EVENT_STORE_URL through a pooler in "
            "transaction mode, for the requests of the API and `contentlog webhooks`"
        ),
    ] = None
    read_model_pool_url: Annotated[
        PoolUrl | None,
        Meta(description="The same for CONTENTLOG_READ_MODEL_URL"),
    ] = None
    read_model: Annotated[
        ModelName,
        Meta(description="The read model that a command is for, unless `--read-model` names it"),
    ] = DEFAULT_MODEL
    read_replica_urls: Annotated[
        Urls,
        Meta(
            description="Standbys of the read model's PostgreSQL, on which the API reads lists and "
            "single entries"
        ),
    ] = ""
    read_replicas_pooled: Annotated[
        Switch,
        Meta(
            description="Whether CONTENTLOG_READ_REPLICA_URLS lead to poolers in transaction mode"
        ),
    ] = False
    data: Annotated[
        Text,
        Meta(
            description="The folder of the embedded PostgreSQL, which runs if a URL is not set; "
            "commands with the same folder share it"
        ),
    ] = ".contentlog"
    host: Annotated[Text, Meta(description="The address that the API listens on")] = "127.0.0.1"
    port: Annotated[Port, Meta(description="The port that the API listens on")] = 8080
    admin_host: Annotated[
        Text, Meta(description="The address that the listener for operators listens on")
    ] = "127.0.0.1"
    admin_port: Annotated[
        Port | None,
        Meta(
            description="The port of the listener for operators, which serves `/metrics` and the "
            "details of `/readyz` without a key",
            extra={"default": "no listener"},
        ),
    ] = None
    probe_port: Annotated[
        Port | None,
        Meta(
            description="The port on which `contentlog projector` and `contentlog webhooks` serve "
            "`/healthz`, `/readyz` and `/metrics`, at CONTENTLOG_ADMIN_HOST; each process of a "
            "machine needs its own",
            extra={"default": "no listener"},
        ),
    ] = None
    workers: Annotated[Workers, Meta(description="The number of API processes")] = 1
    max_body_bytes: Annotated[
        Bytes, Meta(description="The largest request body that the API reads")
    ] = 4 * 1024 * 1024
    client_timeout_ms: Annotated[
        Milliseconds,
        Meta(
            description="How long a client may take to send its first byte, to send the head of a "
            "request, to send its body (plus one second per 8 KiB), and to read the response; 0 is "
            "no limit"
        ),
    ] = 30_000
    read_your_writes_ms: Annotated[
        Milliseconds,
        Meta(description="How long a write waits until it can be read; 0 does not wait"),
    ] = 2000
    key_rate_limit: Annotated[
        RateLimit,
        Meta(
            description="Requests per minute with one key, unless its workspace's plan sets a limit"
        ),
    ] = 600
    ip_rate_limit: Annotated[
        RateLimit, Meta(description="Requests per minute from one address (IPv6: from one /64)")
    ] = 1200
    cost_limit: Annotated[
        CostLimit,
        Meta(
            description="What the requests of one workspace may cost per minute, in units of about "
            "10 µs of processing"
        ),
    ] = 6_000_000
    cache_bytes: Annotated[
        CacheBytes,
        Meta(
            description="The memory in which an API process keeps responses to reads; those of one "
            "workspace may take half"
        ),
    ] = 64 * 1024 * 1024
    response_file_bytes: Annotated[
        Bytes,
        Meta(
            description="The size of the temporary files with large responses of one API process; "
            "those of one workspace may take half"
        ),
    ] = 4 * 1024**3
    trusted_proxies: Annotated[
        Proxies, Meta(description="The proxies whose X-Forwarded-For header is trusted")
    ] = ""
    webhook_networks: Annotated[
        Proxies,
        Meta(
            description="The networks in which webhooks are delivered although they are not public"
        ),
    ] = ""
    thumbnails: Annotated[
        Flag,
        Meta(
            description="Whether the dashboard shows images of the media library, which browsers "
            "load from the hosts in their URLs"
        ),
    ] = True
    changes_kept_days: Annotated[
        Days,
        Meta(
            description="How many days of changes the change feed has; positions before are "
            "refused with 410"
        ),
    ] = 0
    streams_per_key: Annotated[
        Streams, Meta(description="Streams of changes that one key may have in each API process")
    ] = 1_000
    streams_per_workspace: Annotated[
        Streams,
        Meta(description="Streams of changes that one workspace may have in each API process"),
    ] = 2_500
    rebuild_workers: Annotated[
        Workers | None,
        Meta(
            description="The number of processes that replay the log in a rebuild or a verify",
            extra={"default": "one per core"},
        ),
    ] = None
    rebuild_memory: Annotated[
        Bytes,
        Meta(
            description="The memory of a rebuild or a verify in bytes: half for all of its "
            "processes, half for PostgreSQL to sort in"
        ),
    ] = 512 * 1024 * 1024
    backup_stanza: Annotated[
        Text, Meta(description="The stanza of pgBackRest that `contentlog backup` looks at")
    ] = "contentlog"
    backup_config: Annotated[
        Text | None,
        Meta(
            description="The configuration of pgBackRest",
            extra={"default": "/etc/pgbackrest/pgbackrest.conf or /etc/pgbackrest.conf"},
        ),
    ] = None
    backup_data: Annotated[
        Text,
        Meta(
            description="`contentlog backup verify` restores into a new folder in this one, and "
            "removes it"
        ),
    ] = "/var/tmp"  # noqa: S108 - the folder made in it is private
    log_format: Annotated[LogFormat | None, Meta(description="The format of the logs")] = None
    named_models: dict[str, NamedReadModel] = {}
    """By name. It is not a setting itself."""

    @property
    def replica_urls(self) -> tuple[str, ...]:
        """``read_replica_urls``."""
        urls = urls_of(self.read_replica_urls)
        return tuple(map(PoolerUrl, urls)) if self.read_replicas_pooled else urls

    @property
    def networks(self) -> tuple[Network, ...]:
        """``webhook_networks``."""
        return networks(self.webhook_networks)


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
    given = {name: value for name, value in environment.items() if value and name in _variables()}
    try:
        settings = msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), given, describe(Settings())) from None
    for name in ("trusted_proxies", "webhook_networks"):
        try:
            networks(getattr(settings, name))
        except ValueError as error:
            raise SettingsError(f"{PREFIX}{name.upper()} takes {PROXIES}: {error}") from None
    for name in ("event_store_url", "read_model_url"):
        pool = name.replace("url", "pool_url")
        if getattr(settings, pool) and not getattr(settings, name):
            raise SettingsError(
                f"{PREFIX}{pool.upper()} is set, but {PREFIX}{name.upper()} is not: set it to the "
                "PostgreSQL behind the pooler"
            )
    named = replace(settings, named_models=dict(_named_models(environment)))
    _check_databases(named)
    return named


def _named_models(environment: Mapping[str, str]) -> Iterator[tuple[str, NamedReadModel]]:
    """Raises SettingsError."""
    found: dict[str, dict[str, str]] = {}
    for variable, value in environment.items():
        if value and (named := _named(variable)):
            found.setdefault(named[1], {})[named[2]] = value
    for name, given in sorted(found.items()):
        prefix = _prefix(name)
        if "URL" not in given:
            raise SettingsError(f"{prefix}{min(given)} is set, but {prefix}URL is not")
        try:
            model = msgspec.convert(given, NamedReadModel)
        except msgspec.ValidationError as error:
            values = {prefix + kind: value for kind, value in given.items()}
            text = str(error).replace("$.", f"$.{prefix}")
            raise _refusal(text, values, list(_described_model(name, None))) from None
        wrong = next((slug for slug in model.slugs or () if not is_slug(slug)), None)
        if wrong is not None:
            raise SettingsError(f"{prefix}WORKSPACES takes {SLUGS}, not {wrong!r}")
        yield name.lower(), model


def _named(variable: str) -> re.Match[str] | None:
    """The name and the kind of a named read model's setting; None for another variable."""
    kinds = "|".join(field.encode_name for field in msgspec.structs.fields(NamedReadModel))
    found = re.fullmatch(rf"{_prefix('([A-Z][A-Z0-9]{0,30})')}({kinds})", variable)
    is_reserved = variable in _variables() or (found and found[1] == DEFAULT_MODEL.upper())
    return None if is_reserved else found


def _prefix(name: str) -> str:
    return f"{PREFIX}READ_MODEL_{name}_"


def _variables() -> set[str]:
    """The names of all settings but those of named read models."""
    fields = msgspec.structs.fields(Settings)
    return {field.encode_name for field in fields if field.name != "named_models"}


def _check_databases(settings: Settings) -> None:
    """Raises SettingsError if two read models have the same URL."""
    known: dict[str, str] = {}
    urls = {f"{PREFIX}READ_MODEL_URL": settings.read_model_url}
    urls.update(
        (f"{_prefix(name.upper())}URL", one.url) for name, one in settings.named_models.items()
    )
    for setting, url in urls.items():
        first = known.setdefault(without_password(url), setting) if url else setting
        if first != setting:
            raise SettingsError(
                f"{first} and {setting} name the same database: each read model needs its own"
            )


def describe(settings: Settings) -> list[Setting]:
    """All settings, in the order of the documentation. Without a named read model, its settings
    have a placeholder as name."""
    hints = get_type_hints(Settings, include_extras=True)
    named: Mapping[str, NamedReadModel | None] = settings.named_models or {NAME: None}
    return [
        *(
            _described(field, hints[field.name], getattr(settings, field.name))
            for field in msgspec.structs.fields(Settings)
            if field.name != "named_models"
        ),
        *(one for name, model in named.items() for one in _described_model(name.upper(), model)),
    ]


def _described_model(name: str, model: NamedReadModel | None) -> Iterator[Setting]:
    hints = get_type_hints(NamedReadModel, include_extras=True)
    for field in msgspec.structs.fields(NamedReadModel):
        value = None if model is None else getattr(model, field.name)
        one = _described(field, hints[field.name], value)
        yield replace(one, name=_prefix(name) + one.name)


def table() -> list[str]:
    """The lines of the table in deploy/docs/operations.md."""
    rows = [
        f"| `{one.name}` | {one.default} | {one.meaning}. Takes {one.takes}. |"
        for one in describe(Settings())
    ]
    return ["| Setting | Default | Meaning |", "|---|---|---|", *rows]


def unknown_names(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like settings but are not, sorted, each with a warning."""
    known = {name.removeprefix(PREFIX) for name in _variables()}
    given = (name.removeprefix(PREFIX) for name in sorted(environment) if name.startswith(PREFIX))
    return {
        PREFIX + name: _unknown(name, known)
        for name in given
        if not name.startswith("TEST_") and name not in known and not _named(PREFIX + name)
    }


def _unknown(name: str, known: Iterable[str]) -> str:
    """Compares names without the prefix, because the prefix makes any two of them similar."""
    if re.fullmatch(r"READ_MODEL_\w+_(URL|WORKSPACES)", name):
        return (
            f"'{PREFIX}{name}' is set, but the name of a read model takes {NAMES}, and not "
            f"'{DEFAULT_MODEL}'"
        )
    meant = nearest(name, known)
    hint = f"; did you mean '{PREFIX}{meant}'?" if meant else ""
    return f"'{PREFIX}{name}' is set, but there is no such setting{hint}"


def _refusal(error: str, given: Mapping[str, str], settings: list[Setting]) -> SettingsError:
    found = re.search(rf"\$\.({PREFIX}\w+)", error)
    assert found is not None, error
    takes = {setting.name: setting.takes for setting in settings}[found[1]]
    # A mistyped URL may still contain a password.
    shown = "" if found[1].endswith(("_URL", "_URLS")) else f", not {given[found[1]]!r}"
    return SettingsError(f"{found[1]} takes {takes}{shown}")


def _described(field: Any, hint: Any, value: object) -> Setting:
    about = [meta for meta in _metadata(hint) if isinstance(meta, Meta)]
    extra = {key: text for meta in about for key, text in (meta.extra or {}).items()}
    default = extra.get("default") or str(field.default)
    return Setting(
        name=field.encode_name,
        takes=extra["takes"],
        default=default,
        meaning=next(meta.description for meta in about if meta.description),
        value=default if value in (None, "") else without_password(str(value)),
    )


def _metadata(hint: Any) -> list[object]:
    """The metadata of an annotation, including that of the members of a union."""
    inner = [meta for part in getattr(hint, "__args__", ()) for meta in _metadata(part)]
    return [*inner, *getattr(hint, "__metadata__", ())]


def urls_of(text: str) -> tuple[str, ...]:
    """The URLs of a list. One that names several hosts has commas too."""
    return tuple(re.split(r",(?=postgres(?:ql)?://)", text)) if text else ()


def without_password(text: str) -> str:
    """URLs without their passwords; any other text as it is."""
    return ",".join(map(_without_password, urls_of(text)))


def _without_password(text: str) -> str:
    if "://" not in text:
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return f"{text.partition('://')[0]}://…"
    name, at, host = parts.netloc.rpartition("@")
    shown = f"{name.partition(':')[0]}{':…' if ':' in name else ''}{at}{host}"
    return urlunsplit(parts._replace(netloc=shown))
