"""API keys: issue, change permissions, revoke."""

from __future__ import annotations

from functools import partial

from write_side.commands import IssueKey, PermitKey, RevokeKey
from write_side.decision import Decision, header
from write_side.domain.definition import check_name
from write_side.domain.events import KeyIssued, KeyPermissionsChanged, KeyRevoked
from write_side.domain.identity import key_stream, new_id
from write_side.domain.refusals import InvalidDefinition, KeyTaken, Refused, UnknownKey
from write_side.domain.workspace import Key, check_permissions
from write_side.repository import Repository
from write_side.store.conflicts import Conflict, KeyConflict
from write_side.store.mapper import StreamEvent

_OTHERS = {"import": "imports", "operator": "operators"}


async def issue_key(command: IssueKey, repository: Repository) -> Decision:
    """A name is unique among the live keys of a workspace, a secret among all live keys."""
    _check_name(command.name)
    check_permissions(command.permissions)
    await repository.workspace(command.workspace)
    issued = KeyIssued(
        **header(command, command.workspace),
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
        refusal=partial(_refusal, command.name),
    )


def _refusal(name: str, conflict: Conflict) -> Refused:
    if isinstance(conflict, KeyConflict):
        return KeyTaken(name)
    raise conflict


async def permit_key(command: PermitKey, repository: Repository) -> Decision:
    check_permissions(command.permissions)
    key = await _key(repository, command.workspace, command.name)
    if set(key.permissions) == set(command.permissions):
        return Decision()
    changed = KeyPermissionsChanged(
        **header(command, key.workspace, key.at),
        key_id=key.id,
        permissions=command.permissions,
    )
    change = {"op": "permit", "id": key.id, "permissions": command.permissions}
    return Decision(
        events=[StreamEvent(key_stream(key.id), key.version + 1, changed)],
        changes={"keys": [change], "access": True},
    )


async def revoke_key(command: RevokeKey, repository: Repository) -> Decision:
    """The key is refused from now on, and its name can be used again."""
    key = await _key(repository, command.workspace, command.name)
    revoked = KeyRevoked(
        **header(command, key.workspace, key.at),
        key_id=key.id,
    )
    return Decision(
        events=[StreamEvent(key_stream(key.id), key.version + 1, revoked)],
        changes={"keys": [{"op": "revoke", "id": key.id}], "access": True},
    )


def _check_name(name: str) -> None:
    """In the history, an actor is a key by its name, or "import" or "operator" and a name."""
    check_name(name, "The name of the key")
    word = name.split()[0].casefold()
    if word in _OTHERS and len(name.split()) > 1:
        raise InvalidDefinition(
            f"The name of the key begins with '{word}', "
            f"which the history uses for {_OTHERS[word]}: choose another"
        )


async def _key(repository: Repository, workspace: str, name: str) -> Key:
    key = await repository.find_key(workspace, name)
    if key is None:
        raise UnknownKey(name)
    return key
