"""The schema, as interface.md has it; ``schema.graphql`` beside this file is what it prints."""

from __future__ import annotations

from collections.abc import AsyncIterator

import strawberry
from graphql import GraphQLError, OperationDefinitionNode, get_operation_ast
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from api.errors import BadRequest
from api.graphql.cost import Costs, fragments_of
from api.graphql.descriptions import describe
from api.graphql.limits import TOKENS, check_document
from api.graphql.mutation import Mutation
from api.graphql.query import Query
from api.graphql.scalars import SCALARS
from api.graphql.variables import check_repeated, read_variables

SENT = "sent"
"""Where ``variables`` are until it is known what the operation declares."""


class Bounded(SchemaExtension):
    """Reads variables as they are declared, and refuses what asks for too much: before it is
    validated by its size, before it is executed by its cost."""

    async def on_parse(self) -> AsyncIterator[None]:
        context = self.execution_context
        context.parse_options = {"max_tokens": TOKENS}
        yield
        if context.graphql_document is not None:
            check_document(context.graphql_document)
            self._operation()

    async def on_validate(self) -> AsyncIterator[None]:
        context = self.execution_context
        operation = self._operation()
        yield
        if context.pre_execution_errors:
            return
        assert context.graphql_document is not None
        sent = (context.variables or {}).get(SENT)
        context.variables = read_variables(sent, operation, context.schema._schema)  # noqa: SLF001
        check_repeated(context.graphql_document, sent, context.context.max_body_bytes)
        fragments = fragments_of(context.graphql_document)
        costs = Costs(operation, fragments, context.variables, context.schema._schema)  # noqa: SLF001
        context.context.spending.begin(costs)

    def _operation(self) -> OperationDefinitionNode:
        context = self.execution_context
        assert context.graphql_document is not None
        named = context._provided_operation_name  # noqa: SLF001
        operation = get_operation_ast(context.graphql_document, named)
        if operation is None:
            raise BadRequest("Name one of the document's operations in operationName")
        return operation


class Schema(strawberry.Schema):
    def process_errors(
        self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None
    ) -> None:
        """Faults are logged where the answer is made, under the request's id."""


schema = Schema(
    Query,
    Mutation,
    extensions=[Bounded],
    config=StrawberryConfig(scalar_map=SCALARS),
)
describe(schema)
