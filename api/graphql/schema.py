"""The schema; ``schema.graphql`` in this folder is its printed form."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import strawberry
from graphql import (
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    get_operation_ast,
)
from strawberry.extensions import MaxTokensLimiter, SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from api.errors import BadRequest
from api.graphql.context import GraphQLContext
from api.graphql.cost import CostEstimate
from api.graphql.document_limits import (
    TOKENS,
    check_document,
    fragments_of,
    validation_errors,
)
from api.graphql.mutation import Mutation
from api.graphql.query import Query
from api.graphql.request import check_literal_variables, read_variables
from api.graphql.types import SCALARS
from api.http.loop_turns import FEW, PARSE_GRAPHQL
from api.rest.request_checks import check_edit, check_read
from write_side import tracing
from write_side.domain.refusals import shortened

LONGEST_NAME = 100
"""Characters of an operation's name in a span."""


class Preparation(SchemaExtension):
    """Checks the limits of a document before it is validated. Afterwards it reads the variables and
    charges the estimated cost, before any resolver runs. Both steps wait for a turn of the event
    loop."""

    async def on_parse(self) -> AsyncIterator[None]:
        async with self._turn(len(self.execution_context.context.body.query)):
            yield
            document = self.execution_context.graphql_document
            if document is not None:
                check_document(document)
                self._operation()

    async def on_validate(self) -> AsyncIterator[None]:
        async with self._turn(self.execution_context.context.size):
            execution = self.execution_context
            assert execution.graphql_document is not None
            # Strawberry has no public name for graphql-core's schema.
            schema = execution.schema._schema  # noqa: SLF001
            execution.pre_execution_errors = validation_errors(schema, execution.graphql_document)
            # Strawberry does not validate again.
            yield
            if not execution.pre_execution_errors:
                self._prepare(schema)

    async def on_execute(self) -> AsyncIterator[None]:
        """A large document runs alone within its workspace and does not delay other workspaces.
        Raises CostLimitExceeded."""
        context = self.execution_context.context
        await context.reserve_cost()
        turns, size = context.service.loop_turns, len(context.body.query)
        async with turns.alone(context.call.client, size):
            yield

    @asynccontextmanager
    async def _turn(self, size: int) -> AsyncIterator[None]:
        context = self.execution_context.context
        async with context.service.loop_turns.turn(context.call.client, PARSE_GRAPHQL, size):
            began = time.thread_time()
            try:
                yield
            finally:
                context.seconds += time.thread_time() - began

    def _prepare(self, schema: GraphQLSchema) -> None:
        execution = self.execution_context
        document, context = execution.graphql_document, execution.context
        assert document is not None
        assert isinstance(context, GraphQLContext)
        sent, operation = context.body.variables, self._operation()
        _name_span(operation)
        if len(bytes(sent)) > FEW:
            # From here on, the refusal of a mutation is in its payload.
            is_mutation = operation.operation is OperationType.MUTATION
            (check_edit if is_mutation else check_read)(context.call)
        variables = read_variables(sent, operation, schema)
        check_literal_variables(document, sent, context.service.settings.max_body_bytes)
        context.budget.begin(CostEstimate(operation, fragments_of(document), variables))
        execution.variables = variables

    def _operation(self) -> OperationDefinitionNode:
        document, context = self.execution_context.graphql_document, self.execution_context.context
        assert document is not None
        name = context.body.operation_name
        operation = get_operation_ast(document, name)
        if operation is not None:
            return operation
        if name is not None:
            raise BadRequest(
                f"Unknown operation '{shortened(name)}': name one of the document's operations in "
                "operationName"
            )
        number = sum(isinstance(node, OperationDefinitionNode) for node in document.definitions)
        if not number:
            raise BadRequest("The document has no operation: add a query or a mutation")
        raise BadRequest(f"The document has {number} operations: name one of them in operationName")


def _name_span(operation: OperationDefinitionNode) -> None:
    """Follows OpenTelemetry's conventions, without the document, which may contain values."""
    span, kind = tracing.current(), operation.operation.value
    span.rename(kind)
    span.set("graphql.operation.type", kind)
    if operation.name is not None:
        span.set("graphql.operation.name", operation.name.value[:LONGEST_NAME])


class Schema(strawberry.Schema):
    def process_errors(
        self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None
    ) -> None:
        """Logs nothing, because ``handler.py`` logs faults with the request id."""


schema = Schema(
    Query,
    Mutation,
    extensions=[lambda: MaxTokensLimiter(TOKENS), Preparation],
    config=StrawberryConfig(scalar_map=SCALARS),
)
