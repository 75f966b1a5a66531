"""What an API process is told."""

from __future__ import annotations

from msgspec import Struct


class ApiSettings(Struct, frozen=True, kw_only=True):
    """``read_your_writes``: seconds a POST waits until what it made can be read.

    ``ready_lag``: seconds the read model may be behind while /readyz still says yes.
    ``client_timeout``: seconds a client may take for a request, beside what its size allows.

    ``key_rate_limit`` and ``ip_rate_limit`` are requests a minute, 0 for no limit. They are counted
    in Redis where ``redis_url`` is set, in memory where this is certainly the only process
    (``alone``), else in the event store's database. ``trusted_proxies`` are addresses and networks,
    separated by commas, whose X-Forwarded-For counts.

    ``metrics_folder``: where the workers of one command keep what they count, where they are many.
    """

    event_store_url: str
    read_model_url: str
    host: str = "127.0.0.1"
    port: int = 8080
    reuse_port: bool = False
    max_body_bytes: int = 4 * 1024 * 1024
    read_your_writes: float = 2.0
    ready_lag: float = 30.0
    client_timeout: float = 30.0
    key_rate_limit: int = 600
    ip_rate_limit: int = 1200
    redis_url: str | None = None
    alone: bool = False
    trusted_proxies: str = ""
    metrics_folder: str | None = None
