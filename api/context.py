"""What the handlers share, and what the checks find out about one request."""

from __future__ import annotations

from aiohttp import web
from msgspec import Struct, field

from api.auth.access import Access
from api.auth.keys import Caller
from api.rate_limits.limits import Limits
from api.rest.idempotency import InFlight
from api.rest.positions import Positions
from api.settings import ApiSettings
from read_side.checkpoint import CheckpointWatch
from read_side.pool import Pool
from write_side.domain.identity import Scope
from write_side.repository import Repository


class Service(Struct):
    """The parts an API process is wired of."""

    settings: ApiSettings
    repository: Repository
    read_model: Pool
    access: Access
    checkpoint: CheckpointWatch
    limits: Limits
    positions: Positions
    in_flight: InFlight = field(default_factory=InFlight)


class Call(Struct):
    """One request as it passes the checks; each fills in what it found."""

    request: web.Request
    service: Service
    permission: str
    caller: Caller | None = None
    environment: str = ""
    locale: str = ""

    @property
    def known_caller(self) -> Caller:
        assert self.caller is not None
        return self.caller

    @property
    def scope(self) -> Scope:
        return Scope(self.known_caller.workspace, self.environment)


SERVICE = web.AppKey("service", Service)
REQUEST_ID = web.RequestKey("request_id", str)
