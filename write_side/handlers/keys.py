"""API keys: issue, change permissions, revoke."""

from __future__ import annotations

from write_side.commands import IssueKey, PermitKey, RevokeKey
from write_side.decision import Decision, now
from write_side.domain.definition import check_name
from write_side.domain.events import KeyIssued, KeyPermissionsChanged, KeyRevoked
from write_side.domain.identity import key_stream, new_id
from write_side.domain.refusals import InvalidDefinition, UnknownKey
from write_side.domain.workspace import Key, check_permissions
from write_side.repository import Repository
from write_side.store.mapper import StreamEvent

_OTHERS = {"import": "imports", "operator": "operators"}


async def issue_key(command: IssueKey, repository: Repository) -> Decision:
    """A name names one live key of a workspace, a secret one live key of all."""
    _check_name(command.name)
    check_permissions(command.permissions)
    await repository.workspace(command.workspace)
    issued = KeyIssued(
        workspace=command.workspace,
        actor=command.actor,
        at=now(),
        request_id=command.request_id,
        key_id=new_id(),
        name=command.name,
        permissions=command.permissions,
        secret_hash=command.secret_hash,
    )
    claim = {
        "op": "claim",
        "id": issued.key_id,
        "workspace": issued.workspace,
        "name": issued.name,
        "secret_hash": issued.secret_hash,
        "permissions": issued.permissions,
    }
    return Decision(
        events=[StreamEvent(key_stream(issued.key_id), 1, issued)],
        changes={"keys": [claim], "access": True},
    )


async def permit_key(command: PermitKey, repository: Repository) -> Decision:
    check_permissions(command.permissions)
    key = await _key(repository, command.workspace, command.name)
    if set(key.permissions) == set(command.permissions):
        return Decision()
    changed = KeyPermissionsChanged(
        workspace=key.workspace,
        actor=command.actor,
        at=now(key.at),
        request_id=command.request_id,
        key_id=key.id,
        permissions=command.permissions,
    )
    change = {"op": "permit", "id": key.id, "permissions": command.permissions}
    return Decision(
        events=[StreamEvent(key_stream(key.id), key.version + 1, changed)],
        changes={"keys": [change], "access": True},
    )


async def revoke_key(command: RevokeKey, repository: Repository) -> Decision:
    """The key is refused from then on, for ever; its name is free again."""
    key = await _key(repository, command.workspace, command.name)
    revoked = KeyRevoked(
        workspace=key.workspace,
        actor=command.actor,
        at=now(key.at),
        request_id=command.request_id,
        key_id=key.id,
    )
    return Decision(
        events=[StreamEvent(key_stream(key.id), key.version + 1, revoked)],
        changes={"keys": [{"op": "revoke", "id": key.id}], "access": True},
    )


def _check_name(name: str) -> None:
    """History names a key by its name alone, an import and an operator with the word before it."""
    check_name(name, "The name of the key")
    word = name.split()[0].casefold()
    if word in _OTHERS and len(name.split()) > 1:
        raise InvalidDefinition(
            f"The name of the key begins with '{word}', "
            f"which is how history tells of {_OTHERS[word]}: choose another"
        )


async def _key(repository: Repository, workspace: str, name: str) -> Key:
    key = await repository.find_key(workspace, name)
    if key is None:
        raise UnknownKey(name)
    return key
