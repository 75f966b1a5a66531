"""The same read model as the library documents it: aggregates, a view, a ProjectionRunner.

The view writes what contentlog's projector writes (an entry's row with its values stored and
rendered, five indexes, a maintained count), each event in a transaction with its tracking.
"""

from __future__ import annotations

import hashlib
import time
from typing import Any

import msgspec
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from psycopg.sql import SQL

from tests.benchmarks.library_store import library_environment
from tests.benchmarks.workload import VALUES

TEXTS = {slug: bytes(value).decode() for slug, value in VALUES.items()}
TYPE = "00000000-0000-0000-0000-000000000001"

WRITTEN = SQL(
    "INSERT INTO read_model.entry (workspace, environment, id, content_type_id, slug, slug_hash,"
    " slug_since, title, status, language, created_at, updated_at, position, version, type_version,"
    " stored, fields) VALUES ('bench', 'production', %s, %s, %s, %s, %s, %s, 'published', 'en-US',"
    " %s, %s, %s, 1, 1, %s, %s)"
)
COUNTED = SQL(
    "INSERT INTO read_model.entry_count AS c"
    " VALUES ('bench', 'production', 3, 0, %s, 'published', 'en-US', 0, 1)"
    " ON CONFLICT (workspace, environment, filters, level, content_type_id, status, language,"
    " block) DO UPDATE SET n = c.n + 1"
)
KNOWN = SQL(
    "SELECT stored FROM read_model.entry"
    " WHERE workspace = 'bench' AND environment = 'production' AND id = %s"
)
VIEWED = SQL(
    "UPDATE read_model.entry SET updated_at = %s, version = version + 1, stored = %s, fields = %s"
    " WHERE workspace = 'bench' AND environment = 'production' AND id = %s"
)


class Post(Aggregate):
    @event("Written")
    def __init__(self, slug: str, fields: dict[str, str]) -> None:
        self.slug = slug
        self.fields = fields

    @event("Viewed")
    def view(self, views: str) -> None:
        self.fields["views"] = views


class Posts(Application[Any]):
    """The log."""


class PostView(PostgresTrackingRecorder):
    """Our read model's tables, made beforehand; rows and tracking in one transaction."""

    def written(self, post: Any, tracking: Tracking) -> None:
        fields = msgspec.json.encode(post.fields).decode()
        digest = hashlib.sha256(post.slug.encode()).digest()
        at, position = post.timestamp, tracking.notification_id
        row = (post.originator_id, TYPE, post.slug, digest, at, post.slug, at, at, position)
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(WRITTEN, (*row, fields, fields))
            cursor.execute(COUNTED, (TYPE,))

    def viewed(self, post: Any, tracking: Tracking) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(KNOWN, (post.originator_id,))
            known = cursor.fetchone()
            assert known is not None
            fields = msgspec.json.encode({**known["stored"], "views": post.views}).decode()
            cursor.execute(VIEWED, (post.timestamp, fields, fields, post.originator_id))


class PostProjection(Projection[PostView]):
    name = "posts"

    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        if hasattr(domain_event, "fields"):
            self.view.written(domain_event, tracking)
        else:
            self.view.viewed(domain_event, tracking)


def events_per_second(url: str, events: int) -> float:
    """Catching up with so many events more, of which two of five are updates."""
    environment = library_environment(url)
    log = Posts(environment)
    before = last = log.recorder.max_notification_id() or 0
    while last < before + events:
        posts = [Post(f"post-{last}-{n}", TEXTS) for n in range(60)]
        for post in posts[:40]:
            post.view("4321")
        last = log.save(*posts)[-1].notification.id
    log.close()
    started = time.perf_counter()
    with ProjectionRunner(
        application_class=Posts,
        projection_class=PostProjection,
        view_class=PostView,
        env=environment,
    ) as runner:
        runner.wait(last, timeout=300)
    return (last - before) / (time.perf_counter() - started)
