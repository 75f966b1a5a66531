"""The same read model as the library documents it: aggregates, a view and a ProjectionRunner.

The view writes the same rows as contentlog's projector, with one transaction for each event and its
tracking: the entry with its values, its filter and sort keys, its words, the counts of its lists,
its change in the feed, and the version that an update ended.
"""

from __future__ import annotations

import hashlib
import time
import uuid
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
LISTS = [str(uuid.UUID(int=n)) for n in range(7)]
"""Id, title, slug, stage, and the times of creation, update and publication."""

WRITTEN = SQL(
    "INSERT INTO read_model.entry (workspace, environment, id, content_type_id, slug, slug_hash,"
    " slug_since, title, status, language, created_at, updated_at, position, version, type_version,"
    " fields) VALUES ('bench', 'production', %s, %s, %s, %s, %s, %s, 'published', 'en-US',"
    " %s, %s, %s, 1, 1, %s)"
)
KEYED = SQL(
    "INSERT INTO read_model.entry_value"
    " SELECT 'bench', 'production', %s, v.list, v.key FROM unnest(%s::uuid[], %s::bytea[])"
    " AS v(list, key)"
)
SEARCHED = SQL(
    "INSERT INTO read_model.entry_search VALUES ('bench', 'production', %s, '', 'published', %s)"
)
COUNTED = SQL(
    "INSERT INTO read_model.entry_count AS c"
    " SELECT 'bench', 'production', f.filters, l.level, f.type, f.status, f.language,"
    " p.position - p.position %% l.size, 1"
    " FROM (VALUES (0, '00000000-0000-0000-0000-000000000000'::uuid, '', ''), (1, %s, '', ''),"
    " (3, %s, 'published', 'en-US')) AS f(filters, type, status, language)"
    " CROSS JOIN (VALUES (0, 9223372036854775807), (1, 262144), (2, 8192), (3, 256))"
    " AS l(level, size)"
    " CROSS JOIN (SELECT %s::bigint) AS p(position)"
    " ON CONFLICT (workspace, environment, filters, level, content_type_id, status, language,"
    " block) DO UPDATE SET n = c.n + 1"
)
CHANGED = SQL(
    "INSERT INTO read_model.change VALUES ('bench', 'production', %s, %s, true, %s, 'posts', %s,"
    " %s, NULL, 'en-US', 'published', %s, %s, 'bench')"
)
ENDED = SQL(
    "INSERT INTO read_model.past_version SELECT workspace, environment, content_type_id, status,"
    " language, position, %s, updated_at, 0, id, version, stage_id, created_at, published_at,"
    " title, slug"
    " FROM read_model.entry"
    " WHERE workspace = 'bench' AND environment = 'production' AND id = %s"
)
REKEYED = SQL("UPDATE read_model.entry_value SET key = %s WHERE position = %s AND list = %s")
KNOWN = SQL(
    "SELECT fields::json, position, slug FROM read_model.entry"
    " WHERE workspace = 'bench' AND environment = 'production' AND id = %s"
)
VIEWED = SQL(
    "UPDATE read_model.entry SET updated_at = %s, version = version + 1, fields = %s"
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
    """The event log."""


class PostView(PostgresTrackingRecorder):
    """Writes to our read model's tables, which already exist. Rows and tracking share a
    transaction."""

    def written(self, post: Any, tracking: Tracking) -> None:
        fields = msgspec.json.encode(post.fields).decode()
        digest = hashlib.sha256(post.slug.encode()).digest()
        at, position = post.timestamp, tracking.notification_id
        row = (post.originator_id, TYPE, post.slug, digest, at, post.slug, at, at, position)
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(WRITTEN, (*row, fields))
            texts = (post.originator_id, post.slug, post.slug, "", at, at, at)
            keys = [str(text).encode() for text in texts]
            cursor.execute(KEYED, (position, LISTS, keys))
            cursor.execute(SEARCHED, (position, post.slug.replace("-", " ")))
            cursor.execute(COUNTED, (TYPE, TYPE, position))
            change = (position, "entry.created", TYPE, post.originator_id, post.slug, 1, at)
            cursor.execute(CHANGED, change)

    def viewed(self, post: Any, tracking: Tracking) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(KNOWN, (post.originator_id,))
            known = cursor.fetchone()
            assert known is not None
            fields = msgspec.json.encode({**known["fields"], "views": post.views}).decode()
            at, id_ = post.timestamp, post.originator_id
            cursor.execute(ENDED, (at, id_))
            cursor.execute(VIEWED, (at, fields, id_))
            cursor.execute(REKEYED, (str(at).encode(), known["position"], LISTS[5]))
            position = tracking.notification_id
            change = (position, "entry.updated", TYPE, id_, known["slug"], 2, at)
            cursor.execute(CHANGED, change)


class PostProjection(Projection[PostView]):
    name = "posts"

    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        if hasattr(domain_event, "fields"):
            self.view.written(domain_event, tracking)
        else:
            self.view.viewed(domain_event, tracking)


def events_per_second(url: str, events: int) -> float:
    """Events per second when catching up with ``events`` more events, two of five of them
    updates."""
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
