"""The settings of the processes that run this package: the API, and the one of webhooks."""

from __future__ import annotations

from msgspec import Struct

from write_side.domain.webhook_address import Network
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
    """``read_your_writes``: seconds a POST waits until its entry can be read.

    ``ready_lag``: seconds the read model may be behind the log while /readyz answers 200.
    ``client_timeout``: seconds a client may take for a request, plus what its size allows.

    ``key_rate_limit`` and ``ip_rate_limit`` are requests a minute, ``cost_limit`` is units of cost
    a minute of a workspace; 0 for no limit. ``cache_bytes``: of responses that a process keeps in
    memory; 0 for none. ``response_file_bytes``: of the temporary files with large requests and
    responses of a process. ``trusted_proxies`` are addresses and networks,
    separated by commas, whose X-Forwarded-For counts.

    ``admin_port``: of a second listener, which shows operators the metrics without a key; None for
    no listener.

    ``changes_kept_days``: of the change feed; 0 for all changes. ``streams_per_key`` and
    ``streams_per_workspace``: of one process.

    ``read_model``: its name, for operators.

    ``webhook_networks``: those in which webhooks are delivered although they are not public.

    ``thumbnails``: whether the dashboard loads images of the media library from their hosts.

    ``metrics_folder``: the folder in which the workers of one command keep their counts.
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
    ready_lag: float = 30.0
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
