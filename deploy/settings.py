"""The settings of an installation: what each means, its default, and what it takes.

They are documented only here, by the text of each annotation: `contentlog settings` prints them,
and a test compares the table in deploy/docs/operations.md with them. Every process gets its
settings as a frozen Struct.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from api.http.client_address import Network, networks
from read_side.engine import Engine
from write_side.domain.refusals import ExplainedError
from write_side.postgres.pooler import PoolerUrl

PREFIX = "CONTENTLOG_"
DEFAULT_MODEL = "default"
NAMES = "1 to 31 letters and digits, beginning with a letter"
"""Of a read model: in upper case in the names of variables, in lower case everywhere else."""
SLUGS = "slugs of workspaces, separated by commas"
PROXIES = "addresses and CIDR networks, separated by commas"


def _takes(text: str, default: str | None = None, **bounds: Any) -> Meta:
    """What a setting takes, for the documentation and for refusals; its default in words."""
    return Meta(**bounds, extra={"takes": text, **({"default": default} if default else {})})


def _default(text: str) -> Meta:
    """The default as it is documented; the value itself is None."""
    return Meta(extra={"default": text})


# A password has no character that ends the host's name. asyncpg would take what follows for the
# host, and show it in an error.
_HOST = r"(\[[^\]@]*\]|[^\[\]:,/?#@\s]*)(:\d*)?"
_ONE = (
    rf"postgres(ql)?://([^/?#\[\]]*@)?{_HOST}(,{_HOST})*"
    r"(/[^?#@]*)?(\?([\w.]+=[^#]*)?)?"
)
POSTGRESQL = f"^{_ONE}$"
A_URL = "a PostgreSQL URL, such as postgresql://user:password@host"
Url = Annotated[
    str, _takes(f"{A_URL}:5432/database", "the embedded PostgreSQL", pattern=POSTGRESQL)
]
PoolUrl = Annotated[str, _takes(f"{A_URL}:6432/database", "no pooler", pattern=POSTGRESQL)]
ModelUrl = Annotated[str, _takes("a PostgreSQL URL", "none", pattern=POSTGRESQL)]
Urls = Annotated[
    str,
    _takes(
        "PostgreSQL URLs, separated by commas", "none", pattern=rf"^\s*({_ONE}(,\s*{_ONE})*)?\s*$"
    ),
]
ModelName = Annotated[
    str, _takes(f"a name in lower case: {NAMES}", pattern=r"^[a-z][a-z0-9]{0,30}$")
]
Slugs = Annotated[str, _takes(SLUGS, "all")]
Text = Annotated[str, _takes("text", min_length=1)]
Port = Annotated[int, _takes("a whole number from 1 to 65535", ge=1, le=65535)]
Workers = Annotated[int, _takes("a whole number from 1 to 256", ge=1, le=256)]
Bytes = Annotated[int, _takes("a whole number of bytes from 1024 to 2^40", ge=1024, le=2**40)]
Milliseconds = Annotated[
    int, _takes("a whole number of milliseconds from 0 to 60000", ge=0, le=60_000)
]
RateLimit = Annotated[
    int, _takes("a whole number of requests from 0 to 10^12; 0 is no limit", ge=0, le=10**12)
]
CostLimit = Annotated[
    int, _takes("a whole number of units from 0 to 10^12; 0 is no limit", ge=0, le=10**12)
]
CacheBytes = Annotated[
    int, _takes("a whole number of bytes from 0 to 2^40; 0 is no cache", ge=0, le=2**40)
]
Days = Annotated[int, _takes("a whole number of days from 0 to 36500; 0 is all", ge=0, le=36_500)]
Streams = Annotated[int, _takes("a whole number of streams from 0 to 100000", ge=0, le=100_000)]
Flag = Annotated[bool, _takes("true or false", "true")]
Switch = Annotated[bool, _takes("true or false", "false")]
Proxies = Annotated[str, _takes(PROXIES, "none")]
ModelEngine = Annotated[Engine, _takes("postgresql or citus")]
LogFormat = Annotated[
    Literal["json", "text"],
    _takes("json or text", "text on a terminal and for commands that end, else json"),
]


class SettingsError(ExplainedError):
    """A setting is not valid; the text is one line that names it and says what it takes."""


class NamedReadModel(Struct, frozen=True, kw_only=True, rename="upper"):
    """The settings of a read model besides the default one; their names contain its name."""

    url: Annotated[
        ModelUrl,
        "The database of another read model, which `--read-model` selects by its "
        "name in lower case",
    ]
    pool_url: Annotated[
        PoolUrl | None, "The same database through a pooler in transaction mode"
    ] = None
    workspaces: Annotated[
        Slugs, "The workspaces that this read model holds; after a change it needs a rebuild"
    ] = ""
    replica_urls: Annotated[Urls, "Standbys of this read model's PostgreSQL"] = ""
    engine: Annotated[ModelEngine, "The same as CONTENTLOG_READ_MODEL_ENGINE"] = "postgresql"

    @property
    def slugs(self) -> tuple[str, ...] | None:
        """``workspaces``, sorted; None for all."""
        found = {slug.strip() for slug in self.workspaces.split(",")}
        return tuple(sorted(found)) if self.workspaces else None

    @property
    def replicas(self) -> tuple[str, ...]:
        return urls_of(self.replica_urls)


class Settings(
    Struct, frozen=True, kw_only=True, rename=lambda attribute: PREFIX + attribute.upper()
):
    """The settings of an environment; None if one is not set and has no plain default."""

    event_store_url: Annotated[Url | None, "The database of the event log"] = None
    owner_url: Annotated[
        Url | None,
        "The database of the event log, as the owner of its tables; for "
        "`contentlog migrate` and `verify --repair`",
        _default("CONTENTLOG_EVENT_STORE_URL"),
    ] = None
    read_model_url: Annotated[Url | None, "The database of the read model; may be the same one"] = (
        None
    )
    event_store_pool_url: Annotated[
        PoolUrl | None,
        "The same database as CONTENTLOG_EVENT_STORE_URL through a pooler in "
        "transaction mode, for the requests of the API and `contentlog webhooks`",
    ] = None
    read_model_pool_url: Annotated[PoolUrl | None, "The same for CONTENTLOG_READ_MODEL_URL"] = None
    read_model: Annotated[
        ModelName, "The read model that a command is for, unless `--read-model` names it"
    ] = DEFAULT_MODEL
    read_model_engine: Annotated[
        ModelEngine,
        "What `contentlog migrate` makes the read model of: ordinary tables, or "
        "tables that Citus distributes by workspace",
    ] = "postgresql"
    read_replica_urls: Annotated[
        Urls,
        "Standbys of the read model's PostgreSQL, on which the API reads lists and single entries",
    ] = ""
    read_replicas_pooled: Annotated[
        Switch, "Whether CONTENTLOG_READ_REPLICA_URLS lead to poolers in transaction mode"
    ] = False
    data: Annotated[
        Text,
        "The folder of the embedded PostgreSQL, which runs if a URL is not set; "
        "commands with the same folder share it",
    ] = ".contentlog"
    host: Annotated[Text, "The address that the API listens on"] = "127.0.0.1"
    port: Annotated[Port, "The port that the API listens on"] = 8080
    admin_host: Annotated[Text, "The address that the listener for operators listens on"] = (
        "127.0.0.1"
    )
    admin_port: Annotated[
        Port | None,
        "The port of the listener for operators, which serves `/metrics` and the "
        "details of `/readyz` without a key",
        _default("no listener"),
    ] = None
    probe_port: Annotated[
        Port | None,
        "The port on which `contentlog projector` and `contentlog webhooks` serve "
        "`/healthz`, `/readyz` and `/metrics`, at CONTENTLOG_ADMIN_HOST; each process of a "
        "machine needs its own",
        _default("no listener"),
    ] = None
    workers: Annotated[Workers, "The number of API processes"] = 1
    max_body_bytes: Annotated[Bytes, "The largest request body that the API reads"] = (
        4 * 1024 * 1024
    )
    client_timeout_ms: Annotated[
        Milliseconds,
        "How long a client may take to send its first byte, to send the head of a "
        "request, to send its body (plus one second per 8 KiB), and to read the response; 0 is "
        "no limit",
    ] = 30_000
    read_your_writes_ms: Annotated[
        Milliseconds, "How long a write waits until it can be read; 0 does not wait"
    ] = 2000
    key_rate_limit: Annotated[
        RateLimit, "Requests per minute with one key, unless its workspace's plan sets a limit"
    ] = 600
    ip_rate_limit: Annotated[
        RateLimit, "Requests per minute from one address (IPv6: from one /64)"
    ] = 1200
    cost_limit: Annotated[
        CostLimit,
        "What the requests of one workspace may cost per minute, in units of about "
        "10 µs of processing",
    ] = 6_000_000
    cache_bytes: Annotated[
        CacheBytes,
        "The memory in which an API process keeps responses to reads; those of one "
        "workspace may take half",
    ] = 64 * 1024 * 1024
    response_file_bytes: Annotated[
        Bytes,
        "The size of the temporary files of one API process, which hold large "
        "requests and responses; a workspace may take half of what the others leave",
    ] = 4 * 1024**3
    trusted_proxies: Annotated[Proxies, "The proxies whose X-Forwarded-For header is trusted"] = ""
    webhook_networks: Annotated[
        Proxies, "The networks in which webhooks are delivered although they are not public"
    ] = ""
    thumbnails: Annotated[
        Flag,
        "Whether the dashboard shows images of the media library, which browsers "
        "load from the hosts in their URLs",
    ] = True
    changes_kept_days: Annotated[
        Days, "How many days of changes the change feed has; positions before are refused with 410"
    ] = 0
    streams_per_key: Annotated[
        Streams, "Streams of changes that one key may have in each API process"
    ] = 1_000
    streams_per_workspace: Annotated[
        Streams, "Streams of changes that one workspace may have in each API process"
    ] = 2_500
    rebuild_workers: Annotated[
        Workers | None,
        "The number of processes that replay the log in a rebuild or a verify",
        _default("one per core"),
    ] = None
    rebuild_memory: Annotated[
        Bytes,
        "The memory of a rebuild or a verify in bytes: half for all of its "
        "processes, half for PostgreSQL to sort in",
    ] = 512 * 1024 * 1024
    backup_stanza: Annotated[Text, "The stanza of pgBackRest that `contentlog backup` looks at"] = (
        "contentlog"
    )
    backup_config: Annotated[
        Text | None,
        "The configuration of pgBackRest",
        _default("/etc/pgbackrest/pgbackrest.conf or /etc/pgbackrest.conf"),
    ] = None
    backup_data: Annotated[
        Text, "`contentlog backup verify` restores into a new folder in this one, and removes it"
    ] = "/var/tmp"  # noqa: S108 - the folder made in it is private
    log_format: Annotated[LogFormat | None, "The format of the logs"] = None
    named_models: dict[str, NamedReadModel] = {}
    """By name. It is not a setting itself."""

    @property
    def replica_urls(self) -> tuple[str, ...]:
        urls = urls_of(self.read_replica_urls)
        return tuple(map(PoolerUrl, urls)) if self.read_replicas_pooled else urls

    @property
    def networks(self) -> tuple[Network, ...]:
        return networks(self.webhook_networks)


def urls_of(text: str) -> tuple[str, ...]:
    """The URLs of a list. One that names several hosts has commas too."""
    return tuple(re.split(r",\s*(?=postgres(?:ql)?://)", text.strip())) if text.strip() else ()


def without_password(text: str) -> str:
    """URLs without their passwords; any other text as it is."""
    return ",".join(map(_without_password, urls_of(text)))


def _without_password(text: str) -> str:
    """Hides all up to the last "@" as well if the password has characters that end a host."""
    scheme, mark, rest = text.partition("://")
    if not mark:
        return text
    address, *query = re.split(r"(?=\?[\w.]+=)", rest, maxsplit=1)
    if not re.search("[@/]", address):
        # What looks like the options may be the rest of the password.
        address, query = rest, []
    name, at, host = address.rpartition("@")
    shown = f"{name.partition(':')[0]}{':…' if ':' in name else ''}{at}{host}"
    hidden = re.sub(r"(password=)[^&]*", r"\1…", "".join((shown, *query)))
    return f"{scheme}://{hidden}"
