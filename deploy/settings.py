"""The settings of an installation: what each means, its default, and what it takes.

They are documented only here: `contentlog settings` prints them, and a test compares the table in
deploy/docs/operations.md with them. Only `deploy` reads the environment; every process gets its
settings as a frozen Struct.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, get_type_hints
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Meta, Struct

from api.http.client_address import Network, networks
from write_side.domain.suggestion import nearest
from write_side.postgres.pooler import PoolerUrl

PREFIX = "CONTENTLOG_"

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
    given = {name: value for name, value in environment.items() if value}
    try:
        settings = msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), given) from None
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
    return settings


def describe(settings: Settings) -> list[Setting]:
    """All settings, in the order of the documentation."""
    hints = get_type_hints(Settings, include_extras=True)
    return [
        _described(field, hints[field.name], getattr(settings, field.name))
        for field in msgspec.structs.fields(Settings)
    ]


def table() -> list[str]:
    """The lines of the table in deploy/docs/operations.md."""
    rows = [
        f"| `{one.name}` | {one.default} | {one.meaning}. Takes {one.takes}. |"
        for one in describe(Settings())
    ]
    return ["| Setting | Default | Meaning |", "|---|---|---|", *rows]


def unknown_names(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like settings but are not, sorted, each with a warning."""
    known = {field.name.upper() for field in msgspec.structs.fields(Settings)}
    given = (name.removeprefix(PREFIX) for name in sorted(environment) if name.startswith(PREFIX))
    return {
        PREFIX + name: _unknown(name, known)
        for name in given
        if not name.startswith("TEST_") and name not in known
    }


def _unknown(name: str, known: Iterable[str]) -> str:
    """Compares names without the prefix, because the prefix makes any two of them similar."""
    meant = nearest(name, known)
    hint = f"; did you mean '{PREFIX}{meant}'?" if meant else ""
    return f"'{PREFIX}{name}' is set, but there is no such setting{hint}"


def _refusal(error: str, given: Mapping[str, str]) -> SettingsError:
    found = re.search(rf"\$\.({PREFIX}\w+)", error)
    assert found is not None, error
    takes = {setting.name: setting.takes for setting in describe(Settings())}[found[1]]
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
