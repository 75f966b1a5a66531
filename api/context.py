"""The parts that handlers share, and the request that a handler serves."""

from __future__ import annotations

import math

from aiohttp import web
from msgspec import Struct, field

from api.auth.access import Access
from api.auth.keys import Caller
from api.changes.open_streams import OpenStreams
from api.http.large_bodies import ByteBudget, LargeBodies
from api.http.loop_turns import LoopTurns
from api.imports.worker import ImportWorker
from api.rate_limits.bucket import LimitStatus
from api.rate_limits.limits import Limits
from api.rest.idempotency import InFlight
from api.rest.list_query import PageCursors
from api.rest.response_cache import ResponseCache
from api.rest.tokens import ChangeTokens, Positions
from api.settings import ApiSettings
from read_side.checkpoint import CheckpointWatch
from read_side.pool import Pool
from read_side.replicas import Replicas
from write_side.domain.identity import Actor, Scope
from write_side.domain.workspace import VIEW
from write_side.fair_queue import FairQueue
from write_side.repository import Repository

PER_WORKSPACE = 2
RECEIVED_OF_WORKSPACE = 32
SENT_OF_WORKSPACE = 8


class FileTurns:
    """Limits on receiving files, working on them and exporting them, because each takes memory. The
    dashboard and imports over HTTP share them.

    A turn at work lasts only while this process works. What waits for a slow client is in a
    temporary file (``spool``), and limited only within its workspace.
    """

    def __init__(self) -> None:
        # Large request bodies, including files, while they arrive.
        self.receiving = FairQueue(math.inf, per_client=RECEIVED_OF_WORKSPACE)
        # Files that have arrived, while they are stored.
        self.storing = FairQueue(8, per_client=PER_WORKSPACE)
        self.working = FairQueue(4, per_client=PER_WORKSPACE)
        # Pages of exports, and whole workbooks.
        self.exporting = FairQueue(8, per_client=PER_WORKSPACE)
        # Exports, until they are sent.
        self.sending = FairQueue(math.inf, per_client=SENT_OF_WORKSPACE)


class Service(Struct):
    """The parts of an API process. ``request_bodies``: the budget of large ones in memory.
    ``webhook_tests``: limits the test messages in progress; each may take as long as a delivery.
    ``descriptions``: turns at describing large workspaces."""

    settings: ApiSettings
    repository: Repository
    read_model: Pool
    access: Access
    checkpoint: CheckpointWatch
    limits: Limits
    positions: Positions
    change_tokens: ChangeTokens
    streams: OpenStreams
    cursors: PageCursors
    request_bodies: ByteBudget
    large_bodies: LargeBodies
    imports: ImportWorker
    responses: ResponseCache
    replicas: Replicas
    in_flight: InFlight = field(default_factory=InFlight)
    loop_turns: LoopTurns = field(default_factory=LoopTurns)
    file_turns: FileTurns = field(default_factory=FileTurns)
    webhook_tests: FairQueue = field(default_factory=lambda: FairQueue(8, per_client=2))
    descriptions: FairQueue = field(default_factory=lambda: FairQueue(1))


class Call(Struct):
    """An authenticated request. Further checks set the optional attributes.

    ``position``: the position in the log that the response must include.
    """

    request: web.Request
    service: Service
    caller: Caller
    scope: Scope = Scope("", "")
    locale: str = ""
    position: int = 0

    @property
    def client(self) -> str:
        """Takes turns with others: a workspace, or an address if no key is known yet."""
        return self.caller.workspace or self.service.limits.bucket_of(self.request)

    @property
    def published_only(self) -> bool:
        """Whether the key reads only published entries."""
        return VIEW not in self.caller.permissions

    def may_read(self, status: str) -> bool:
        """Whether the key may read entries in this status."""
        return status == "published" or not self.published_only

    @property
    def actor(self) -> Actor:
        return Actor("key", self.caller.key_id, self.caller.key_name)

    @property
    def request_id(self) -> str:
        return self.request[REQUEST_ID]


SERVICE = web.AppKey("service", Service)
REQUEST_ID = web.RequestKey("request_id", str)
LIMIT_STATUS = web.RequestKey("rate_limit", LimitStatus)
"""The rate limit that the response describes."""
