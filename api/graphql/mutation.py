"""What can be changed, by the commands of the write side.

A refusal is ``success: false`` with the message REST would give, and appends nothing. What nobody
foresaw is an error of the whole answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import strawberry

from api.errors import message_of, status_of
from api.graphql.asking import Asking, Info
from api.graphql.entry import ContentEntry, entry_of_log
from api.graphql.inputs import (
    CreateContentEntryInput,
    UpdateContentEntryInput,
    create_command,
    update_command,
)
from api.graphql.written import Written, entry_after
from api.http.request_log import log_fault, request_id
from write_side.commands import Command, DeleteEntry
from write_side.dispatch import execute
from write_side.domain.identity import BASE_LANGUAGE, Actor


@strawberry.type
class ContentEntryPayload:
    """What came of a mutation; where it was refused, the message says why."""

    success: bool
    message: str
    written: strawberry.Private[Written | None] = None

    @strawberry.field
    async def entry(self, info: Info) -> ContentEntry | None:
        """As this mutation has left it, whether it can be read yet or not. Of an update it takes
        ``content.view``: who creates an entry knows what it says."""
        if self.written is None:
            return None
        if self.written.entry_id is not None:
            await info.context.may_view()
        entry, content_type = await entry_after(self.written, info.context.repository)
        return entry_of_log(entry, content_type, BASE_LANGUAGE)


@strawberry.type
class DeletePayload:
    """What came of a delete; where it was refused, the message says why."""

    success: bool
    message: str


@strawberry.type
class Mutation:
    """What can be changed, with the permission ``content.edit``."""

    @strawberry.mutation
    async def create_content_entry(
        self,
        info: Info,
        input: CreateContentEntryInput,  # noqa: A002 - the schema's name
    ) -> ContentEntryPayload:
        """A draft, unless another status is given."""
        return await _payload(
            info.context, lambda **given: create_command(input, **given), "created"
        )

    @strawberry.mutation
    async def update_content_entry(
        self,
        info: Info,
        id: strawberry.ID,  # noqa: A002
        input: UpdateContentEntryInput,  # noqa: A002
    ) -> ContentEntryPayload:
        """Changes what is given and nothing else: publishes, archives, translates, renames."""
        return await _payload(
            info.context, lambda **given: update_command(input, entry_id=id, **given), "updated"
        )

    @strawberry.mutation
    async def delete_content_entry(self, info: Info, id: strawberry.ID) -> DeletePayload:  # noqa: A002
        """Frees its slug and its place in the plan. References to it are left as they are."""
        done = await _payload(
            info.context, lambda **given: DeleteEntry(entry_id=id, **given), "deleted"
        )
        return DeletePayload(success=done.success, message=done.message)


async def _payload(
    asking: Asking, command: Callable[..., Command], done: str
) -> ContentEntryPayload:
    try:
        written = await _carried_out(asking, command)
    except Exception as error:
        status = status_of(error)
        if status == 500:
            raise
        if status == 503:
            log_fault(asking.call.request, error)
        return ContentEntryPayload(success=False, message=message_of(error))
    message = f"Content entry was {done}" if written.executed.events else "Nothing was to change"
    return ContentEntryPayload(success=True, message=message, written=written)


async def _carried_out(asking: Asking, command: Callable[..., Command]) -> Written:
    once = asking.once.next()
    scope = await asking.editing()
    caller = asking.call.known_caller
    given: dict[str, Any] = {
        "actor": Actor("key", caller.key_id, caller.key_name),
        "request_id": request_id(asking.call.request),
        "scope": scope,
        **once.command_of(caller.key_id, scope),
    }
    asked = command(**given)
    executed = await execute(asked, asking.repository)
    # What changes nothing was decided on what the log has by now.
    asking.wrote(executed.position or await asking.repository.recorder.head())
    return Written(scope, getattr(asked, "entry_id", None), executed)
