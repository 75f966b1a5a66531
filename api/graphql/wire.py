"""The bodies of ``POST /graphql``."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct


class GraphQLRequest(Struct, frozen=True, rename="camel"):
    """What is read of a request; other properties are ignored."""

    query: Annotated[str, Meta(min_length=1)]
    variables: dict[str, Any] | None = None
    operation_name: str | None = None


class Location(Struct, frozen=True):
    line: int
    column: int


class Extensions(Struct, frozen=True):
    """``status``: what REST would have answered with."""

    status: int


class GraphQLFault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    message: str
    locations: list[Location] = []
    path: list[str | int] = []
    extensions: Extensions


class GraphQLAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    errors: list[GraphQLFault] = []
    data: dict[str, Any] | None
