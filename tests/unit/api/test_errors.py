"""Responses to unexpected exceptions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import asyncpg
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from markupsafe import escape

from api.context import Service
from api.dashboard.dashboard_request import ANONYMOUS, DashboardRequest
from api.dashboard.page_handlers import error_page
from api.errors import (
    ROUTER,
    STATUS,
    KeysUnavailable,
    NotVisibleYet,
    error_response,
    message_of,
    status_of,
)
from read_side.refusals import IncompleteIndex
from write_side.postgres.connection import is_transient

EXHAUSTED = [
    asyncpg.DiskFullError,
    asyncpg.OutOfMemoryError,
    asyncpg.TooManyConnectionsError,
    asyncpg.ConfigurationLimitExceededError,
]


API = Path(__file__).parents[3] / "deploy" / "docs" / "api.md"


def test_the_documentation_has_every_status() -> None:
    _, _, table = API.read_text("utf-8").partition("\n## Status codes\n")
    rows = re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE)
    listed = {int(status) for row in rows for status in row.split(", ")}
    assert {*STATUS.values(), *ROUTER, 417, 500} <= listed


@pytest.mark.parametrize("kind", EXHAUSTED)
def test_a_full_database_is_unavailable(kind: type[asyncpg.PostgresError]) -> None:
    response = error_response(kind("could not extend file"))
    assert response.status == 503
    assert response.headers["Retry-After"] == "1"
    assert isinstance(response.body, bytes)
    assert b"extend" not in response.body


def test_other_errors_of_postgresql_are_internal_errors() -> None:
    assert status_of(asyncpg.UndefinedTableError("x")) == 500


def test_a_table_that_only_a_worker_of_citus_lacks_will_be_there() -> None:
    error = asyncpg.UndefinedTableError("x")
    assert not is_transient(error)
    error.context = "while executing command on worker1:5432"
    assert is_transient(error)


def test_a_full_disk_is_not_tried_again_at_once() -> None:
    assert not is_transient(asyncpg.DiskFullError("x"))
    assert is_transient(asyncpg.TooManyConnectionsError("x"))


def test_a_bad_url_is_not_tried_again() -> None:
    assert not is_transient(asyncpg.ClientConfigurationError("unknown sslmode"))


@pytest.mark.parametrize("error", [KeysUnavailable(), NotVisibleYet(), IncompleteIndex("price")])
async def test_a_dashboard_page_has_the_message_of_the_api(error: Exception) -> None:
    request = DashboardRequest(
        make_mocked_request("GET", "/dashboard"), cast("Service", None), ANONYMOUS
    )
    page = await error_page(request, error)
    assert page.status == 503
    assert isinstance(page, web.Response)
    assert page.text is not None
    assert escape(message_of(error)) in page.text
