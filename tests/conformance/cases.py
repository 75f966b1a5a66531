"""The rows of the conformance tables: each sends a request and checks the response.

A row's name begins with the numbers of sentences of the specification («4.1.5») or of readings
(«query.6»); ``sentences.py`` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
import pytest
from msgspec import Struct

from tests.conformance.magazine import DESK, KEY
from tests.integration.api.server import Answer

Expectation: TypeAlias = Callable[[Answer], None]


class Request(Struct, frozen=True):
    """A request that is sent exactly as given: nothing is quoted or normalized.

    ``key`` is the secret in ``Authorization: Bearer``; None omits the header.
    """

    method: str
    target: str
    key: str | None = KEY
    headers: Mapping[str, str] = {}
    body: bytes | None = None

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


class Case:
    """One request to the shared magazine workspace, with the expected response."""

    def __init__(
        self, name: str, request: Request, status: int, *expectations: Expectation
    ) -> None:
        self.name: Final = name
        self.request: Final = request
        self.status: Final = status
        self.expectations: Final = expectations

    def check(self, answer: Answer) -> None:
        assert answer.status == self.status, answer.text
        for expectation in self.expectations:
            expectation(answer)


def table(*cases: Case) -> pytest.MarkDecorator:
    """Runs each row as a test with the row's name."""
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


def with_method(method: str, target: str, **more: Any) -> Request:
    return Request(method, target, **more)


def get(target: str, **more: Any) -> Request:
    return Request("GET", target, **more)


def post(body: Any, target: str = "/v1/content", key: str | None = DESK, **more: Any) -> Request:
    """Posts to the workspace that rows may write to. ``body`` is encoded as JSON unless it is
    bytes."""
    sent = body if isinstance(body, bytes) else msgspec.json.encode(body)
    headers = {"Content-Type": "application/json", **more.pop("headers", {})}
    return Request("POST", target, key, headers, sent, **more)


def create(
    title: str, *, type_slug: str = "posts", key: str | None = DESK, **properties: Any
) -> Request:
    """Creates an entry; ``properties`` are added to the body."""
    return post({"contentTypeSlug": type_slug, "title": title, **properties}, key=key)
