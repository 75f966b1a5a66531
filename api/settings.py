"""The settings of the processes that run this package: the API, and the one of webhooks."""

from __future__ import annotations

from msgspec import Struct

from write_side.domain.webhook import Network
from write_side.postgres.pooler import PoolerUrl


class DatabaseUrls(Struct, frozen=True):
    """``event_store_pool_url`` and ``read_model_pool_url``: the databases through a pooler, None if
    there is none. ``pooled_…``: for what needs no session."""

    event_store_url: str
    read_model_url: str
    event_store_pool_url: PoolerUrl | None = None
    read_model_pool_url: PoolerUrl | None = None

    @property
    def pooled_event_store(self) -> str:
        return self.event_store_pool_url or self.event_store_url

    @property
    def pooled_read_model(self) -> str:
        return self.read_model_pool_url or self.read_model_url


class WebhookSettings(DatabaseUrls, frozen=True):
    """``networks``: those of endpoints that are not public."""

    networks: tuple[Network, ...] = ()


class ApiSettings(DatabaseUrls, frozen=True, kw_only=True):
    """See ``deploy/settings.py``, which describes each setting; here, times are in seconds.

    ``read_model``: its name, for operators. ``metrics_folder``: the folder in which the workers of
    one command keep their counts.
    """

    read_model: str = "default"
    read_replica_urls: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8080
    admin_host: str = "127.0.0.1"
    admin_port: int | None = None
    reuse_port: bool = False
    max_body_bytes: int = 4 * 1024 * 1024
    read_your_writes: float = 2.0
    client_timeout: float = 30.0
    key_rate_limit: int = 600
    ip_rate_limit: int = 1200
    cost_limit: int = 6_000_000
    cache_bytes: int = 64 * 1024 * 1024
    response_file_bytes: int = 4 * 1024**3
    trusted_proxies: str = ""
    webhook_networks: tuple[Network, ...] = ()
    thumbnails: bool = True
    changes_kept_days: int = 0
    streams_per_key: int = 1_000
    streams_per_workspace: int = 2_500
    metrics_folder: str | None = None
