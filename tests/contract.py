"""Compares responses with the OpenAPI document: status, headers and body, and nothing else."""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from jsonschema import Draft202012Validator, FormatChecker

from api.http.connections import NO_HTTP
from api.http.cors import crosses_origins
from api.openapi.document import document
from api.openapi.responses import header_references

# What HTTP itself needs to carry a message; every other header is ours to declare.
OF_HTTP = {
    "connection",
    "content-length",
    "content-type",
    "date",
    "keep-alive",
    "server",
    "transfer-encoding",
}
# Where any origin may read the answer; a preflight says what it may send too.
OF_CORS = {"access-control-allow-origin", "access-control-expose-headers"}
OF_PREFLIGHTS = {
    "allow",
    "access-control-allow-methods",
    "access-control-allow-headers",
    "access-control-max-age",
}
# Answers that no operation has, by their names among the document's components.
BEFORE_ROUTING = {
    400: "NotHTTP",
    414: "TargetTooLong",
    417: "UnknownExpectation",
    431: "HeadersTooLarge",
    501: "UnknownMethod",
}
PAGES = ("/docs",)
"""For people: the document does not describe them."""
OF_THE_ROUTER = {404: "NotFound", 405: "MethodNotAllowed"}


class Contract:
    """The document with every body closed: a property it does not declare is a fault.

    With ``select``, entries need not have all properties that the document requires.
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
        """Raise AssertionError or ValidationError where the response is not as declared.

        The path as it was sent, still percent-encoded; of a query at its end only ``select``
        matters.
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
        """The response as the operation has it; else what answers instead of any operation."""
        operation = self._operation(method, path)
        is_http = status != 400 or NO_HTTP not in body
        if operation and is_http and str(status) in operation["responses"]:
            return self._resolved(operation["responses"][str(status)])
        named = {**BEFORE_ROUTING, **({} if operation else OF_THE_ROUTER)}
        assert status in named, f"{status} is not declared"
        return self._component("responses", named[status])

    def _operation(self, method: str, path: str) -> Any:
        """A HEAD is answered as its GET is, without the body."""
        for pattern, template in self._paths:
            of_path = self._document["paths"][template]
            operation = of_path.get("get" if method == "HEAD" else method.lower())
            if operation and pattern.fullmatch(path):
                return operation
        return None

    def _check_headers(
        self, declared: Mapping[str, Any], headers: Mapping[str, str], more: Collection[str]
    ) -> None:
        """The declared ones, those of every response, and ``more``."""
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
