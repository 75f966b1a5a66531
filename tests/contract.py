"""Responses held against the OpenAPI document: status, headers and body, and nothing besides."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from jsonschema import Draft202012Validator, FormatChecker

from api.openapi.document import document
from api.openapi.headers import ALWAYS

# Headers that are ours to declare; the others are HTTP's own.
OURS = re.compile(r"x-.*|access-control-.*|retry-after|etag|idempotency.*", re.IGNORECASE)
# Answers of the router, which the document speaks of in its introduction.
OF_THE_ROUTER = (404, 405)


class Contract:
    """The document with every body closed: a property it does not declare is a fault."""

    def __init__(self) -> None:
        self._document = copy.deepcopy(document())
        for schema in self._document["components"]["schemas"].values():
            if "properties" in schema:
                schema["additionalProperties"] = False
        self._paths = [(_pattern(path), path) for path in self._document["paths"]]

    def check(
        self, method: str, path: str, status: int, headers: Mapping[str, str], body: str
    ) -> None:
        """Raise AssertionError or ValidationError where the response is not as declared."""
        declared = self._declared(method, path, status)
        if declared is None:
            self._check_undeclared(method, status, headers, body)
            return
        self._check_headers(declared.get("headers", {}), headers)
        if method == "HEAD" or "content" not in declared:
            assert body == "", "a response that declares no content has a body"
            return
        media_type = headers["Content-Type"].partition(";")[0]
        assert media_type in declared["content"], f"{media_type} is not declared"
        shown = msgspec.json.decode(body) if media_type == "application/json" else body
        self._validate(shown, declared["content"][media_type]["schema"])

    def _declared(self, method: str, path: str, status: int) -> Any:
        """None where the router answers: no such path, no such method, a preflight."""
        for pattern, template in self._paths:
            operations = self._document["paths"][template]
            operation = operations.get("get" if method == "HEAD" else method.lower())
            if pattern.fullmatch(path) and operation:
                assert str(status) in operation["responses"], f"{status} is not declared"
                return operation["responses"][str(status)]
        return None

    def _check_undeclared(
        self, method: str, status: int, headers: Mapping[str, str], body: str
    ) -> None:
        assert status in OF_THE_ROUTER or (method, status) == ("OPTIONS", 204)
        self._check_headers(
            {name: self._component("headers", name) for name in ALWAYS}, headers, closed=False
        )
        if status in OF_THE_ROUTER and method != "HEAD":
            self._validate(msgspec.json.decode(body), {"$ref": "#/components/schemas/ErrorBody"})

    def _check_headers(
        self, declared: Mapping[str, Any], headers: Mapping[str, str], *, closed: bool = True
    ) -> None:
        for name, reference in declared.items():
            header = self._resolved(reference)
            if name not in headers:
                assert not header["required"], f"{name} is missing"
                continue
            whole = header["schema"].get("type") == "integer"
            self._validate(int(headers[name]) if whole else headers[name], header["schema"])
        known = {name.lower() for name in declared}
        undeclared = [n for n in headers if OURS.fullmatch(n) and n.lower() not in known]
        assert not (closed and undeclared), f"{undeclared} are not declared"

    def _resolved(self, part: Any) -> Any:
        reference = part.get("$ref")
        return self._component(*reference.split("/")[2:]) if reference else part

    def _component(self, kind: str, name: str) -> Any:
        return self._document["components"][kind][name]

    def _validate(self, value: Any, schema: Mapping[str, Any]) -> None:
        root = {**schema, "components": self._document["components"]}
        Draft202012Validator(root, format_checker=FormatChecker()).validate(value)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)))
