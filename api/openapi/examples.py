"""One entry, one content type and more, as the endpoints show them."""

from __future__ import annotations

from typing import Any

REQUEST_ID = "019a3f2e-5b1c-7d40-9e57-2f8f6f0b6c11"
SECRET = "clk_a-key-of-your-workspace"  # noqa: S105 - nobody's
ETAG = 'W/"5d41402abc4b2a76b9719d911017c592"'
AS_OF = "2026-01-31T09:30:00Z"
POSITION = "Cqx7R2mZ0u8nq5kE1vJdwVbT3yHsLf9a"
_ID = "019a3f2e-5a0b-7c3e-8f4d-1b2a3c4d5e6f"
TYPE = {"id": "019a3f2e-4e2a-7b1d-9c3e-0a1b2c3d4e5f", "name": "Posts", "slug": "posts"}
_TIMES = {"createdAt": "2026-01-30T16:05:12.034Z", "updatedAt": "2026-01-31T09:30:00.000Z"}
FIELDS: dict[str, Any] = {"body": "The tide is out.", "views": 7, "related": []}
_TITLE = {"id": _ID, "title": "Hello, World!", "slug": "hello--world-"}

SINGLE = {
    **_TITLE,
    "status": "published",
    "stage": {"id": "review", "name": "Review"},
    "language": "en-US",
    "locale": "en-US",
    "publishedAt": "2026-01-31T09:30:00.000Z",
    **_TIMES,
    "contentType": TYPE,
    "fields": FIELDS,
}
LISTED = {name: value for name, value in SINGLE.items() if name != "contentType"}
OF_ANY_TYPE = {name: value for name, value in SINGLE.items() if name != "language"}
NEW = {"contentTypeSlug": "posts", "title": "Hello, World!", "fields": {"views": 7}}
CREATED = {
    **_TITLE,
    "status": "draft",
    "contentType": TYPE,
    "fields": {"body": None, "views": 7, "related": []},
    "createdAt": "2026-01-30T16:05:12.034Z",
    "updatedAt": "2026-01-30T16:05:12.034Z",
}
_PLAIN: dict[str, Any] = {
    "required": False,
    "multiple": False,
    "range": False,
    "options": [],
    "to": [],
    "fields": [],
}
CONTENT_TYPE = {
    **TYPE,
    "workflow": {
        "stages": [{"id": "writing", "name": "Writing"}, {"id": "review", "name": "Review"}]
    },
    "fields": [
        {"slug": "intro", "name": "Intro", "type": "section", **_PLAIN},
        {"slug": "body", "name": "Body", "type": "rich_text", **_PLAIN, "required": True},
        {"slug": "views", "name": "Views", "type": "number", **_PLAIN},
        {
            "slug": "related",
            "name": "Related",
            "type": "reference",
            **_PLAIN,
            "multiple": True,
            "to": ["posts"],
        },
    ],
    **_TIMES,
}
READY = {
    "ready": True,
    "reason": None,
    "head": 120,
    "checkpoint": 120,
    "lag": {"events": 0, "seconds": 0.0},
}
NOT_READY = {
    **READY,
    "ready": False,
    "reason": "the read model is too far behind the log",
    "checkpoint": 20,
    "lag": {"events": 100, "seconds": 42.5},
}
METRICS = """\
# HELP contentlog_lag_events Events not projected yet
# TYPE contentlog_lag_events gauge
contentlog_lag_events 0.0
"""
GRAPHQL_REQUEST = {
    "query": "query ($limit: Int) { contentEntries(limit: $limit) { data { title slug } } }",
    "variables": {"limit": 1},
}
GRAPHQL_ANSWER = {"data": {"contentEntries": {"data": [{"title": "Hello", "slug": "hello"}]}}}
