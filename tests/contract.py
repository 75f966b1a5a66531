"""Compares a response's status, headers and body with the OpenAPI document."""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from jsonschema import Draft202012Validator, FormatChecker

from api.errors import NO_HTTP
from api.http.cors import crosses_origins
from api.openapi.document import document
from api.openapi.responses import header_references

# HTTP needs these to carry a message; the document must declare every other header.
OF_HTTP = {
    "connection",
    "content-length",
    "content-type",
    "date",
    "keep-alive",
    "server",
    "transfer-encoding",
}
# Sent where any origin may read the response; a preflight adds those below.
OF_CORS = {"access-control-allow-origin", "access-control-expose-headers"}
OF_PREFLIGHTS = {
    "allow",
    "access-control-allow-methods",
    "access-control-allow-headers",
    "access-control-max-age",
}
# Responses that belong to no operation, by their component names in the document.
BEFORE_ROUTING = {
    400: "NotHTTP",
    414: "TargetTooLong",
    417: "UnknownExpectation",
    431: "HeadersTooLarge",
    501: "UnknownMethod",
}
PAGES = ("/docs",)
"""Pages for people; the document does not describe them."""
OF_THE_ROUTER = {404: "NotFound", 405: "MethodNotAllowed"}


class Contract:
    """The OpenAPI document with closed bodies: a property that it does not declare is an error.

    With ``select``, entries may lack properties that the document requires.
    """

    def __init__(self) -> None:
        self._document = copy.deepcopy(document())
        for schema in self._document["components"]["schemas"].values():
            if "properties" in schema:
                schema["additionalProperties"] = False
        self._selected = copy.deepcopy(self._document)
        for name in ("ListedEntry", "SingleEntry", "AnyEntry"):
            del self._selected["components"]["schemas"][name]["required"]
        self._paths = [(_pattern(path), path) for path in self._document["paths"]]

    def check(
        self, method: str, path: str, status: int, headers: Mapping[str, str], body: str
    ) -> None:
        """Raises AssertionError or ValidationError if the response is not as declared.

        ``path`` is as sent, percent-encoded. Of its query, only ``select`` matters.
        """
        path, _, query = path.partition("?")
        cors = OF_CORS if crosses_origins(path) else set()
        if path in PAGES and status == 200:
            return
        if method == "OPTIONS" and status == 204:
            self._check_headers({}, headers, cors | OF_PREFLIGHTS)
            assert body == ""
            return
        declared = self._declared(method, path, status, body)
        self._check_headers(declared["headers"], headers, cors)
        if method == "HEAD" or "content" not in declared:
            assert body == "", "a response that declares no content has a body"
            return
        media_type = headers["Content-Type"].partition(";")[0]
        assert media_type in declared["content"], f"{media_type} is not declared"
        shown = msgspec.json.decode(body) if media_type == "application/json" else body
        document = self._selected if "select=" in query else self._document
        self._validate(shown, declared["content"][media_type]["schema"], document)

    def _declared(self, method: str, path: str, status: int, body: str) -> Any:
        """Returns the operation's response, or the response to a request that reaches no
        operation."""
        operation = self._operation(method, path)
        is_http = status != 400 or NO_HTTP not in body
        if operation and is_http and str(status) in operation["responses"]:
            return self._resolved(operation["responses"][str(status)])
        named = {**BEFORE_ROUTING, **({} if operation else OF_THE_ROUTER)}
        assert status in named, f"{status} is not declared"
        return self._component("responses", named[status])

    def _operation(self, method: str, path: str) -> Any:
        """Returns the operation. HEAD uses GET's; only the body is missing."""
        for pattern, template in self._paths:
            of_path = self._document["paths"][template]
            operation = of_path.get("get" if method == "HEAD" else method.lower())
            if operation and pattern.fullmatch(path):
                return operation
        return None

    def _check_headers(
        self, declared: Mapping[str, Any], headers: Mapping[str, str], more: Collection[str]
    ) -> None:
        """Checks the declared headers, those of every response, and ``more``."""
        declared = {**header_references("...always"), **declared}
        for name, reference in declared.items():
            header = self._resolved(reference)
            if name not in headers:
                assert not header["required"], f"{name} is missing"
                continue
            whole = header["schema"].get("type") == "integer"
            self._validate(int(headers[name]) if whole else headers[name], header["schema"])
        missing = [name for name in more if name not in {one.lower() for one in headers}]
        assert not missing, f"{missing} are missing"
        known = {name.lower() for name in declared} | OF_HTTP | set(more)
        undeclared = [name for name in headers if name.lower() not in known]
        assert not undeclared, f"{undeclared} are not declared"

    def _resolved(self, part: Any) -> Any:
        reference = part.get("$ref")
        return self._component(*reference.split("/")[2:]) if reference else part

    def _component(self, kind: str, name: str) -> Any:
        return self._document["components"][kind][name]

    def _validate(self, value: Any, schema: Mapping[str, Any], document: Any = None) -> None:
        root = {**schema, "components": (document or self._document)["components"]}
        Draft202012Validator(root, format_checker=FormatChecker()).validate(value)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)))
