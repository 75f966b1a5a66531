"""The keys of a manifest against those of the workspace."""

from __future__ import annotations

from write_side.applying.steps import Step, hash_of, new_secret
from write_side.applying.wanted import Wanted
from write_side.commands import IssueKey, PermitKey, RevokeKey
from write_side.domain.refusals import KeyTaken
from write_side.domain.workspace import Key
from write_side.manifest import WrittenKey

_HOLDERS = """
SELECT name, workspace FROM write_side.key_claim WHERE secret_hash = $1 AND NOT revoked"""


async def compared(wanted: Wanted) -> list[Step]:
    manifest = wanted.manifest
    live = {key.name: key for key in await wanted.repository.keys(manifest.workspace)}
    mentioned = {key.name for key in manifest.keys}
    steps = [
        _revoke(wanted, name, f"key {name} revoked: the manifest does not mention it")
        for name in live
        if wanted.prune and name not in mentioned
    ]
    for written in manifest.keys:
        steps.extend(await _one(wanted, written, live.get(written.name)))
    return steps


async def _one(wanted: Wanted, written: WrittenKey, live: Key | None) -> list[Step]:
    if live is None:
        return [await _issue(wanted, written, f"key {written.name} issued")]
    if written.secret is not None and hash_of(written.secret) != live.secret_hash:
        issue = await _issue(wanted, written, f"key {written.name} issued with its new secret")
        gone = f"key {written.name} revoked: its secret has changed"
        return [_revoke(wanted, written.name, gone), issue]
    if set(written.permissions) != set(live.permissions):
        permit = PermitKey(
            actor=wanted.actor,
            workspace=live.workspace,
            name=live.name,
            permissions=written.permissions,
        )
        return [Step(f"key {live.name} permitted {', '.join(written.permissions)}", permit)]
    return []


async def _issue(wanted: Wanted, written: WrittenKey, line: str) -> Step:
    secret = written.secret or new_secret()
    if written.secret is not None:
        await _check_free(wanted, written)
    issue = IssueKey(
        actor=wanted.actor,
        workspace=wanted.manifest.workspace,
        name=written.name,
        permissions=written.permissions,
        secret_hash=hash_of(secret),
    )
    made = f"secret of key {written.name}, shown this once: {secret}"
    return Step(line, issue, told="" if written.secret else made)


async def _check_free(wanted: Wanted, written: WrittenKey) -> None:
    """Refused before anything is revoked for it."""
    assert written.secret is not None
    holders = await wanted.repository.recorder.fetch(_HOLDERS, hash_of(written.secret))
    if any(
        (row["workspace"], row["name"]) != (wanted.manifest.workspace, written.name)
        for row in holders
    ):
        raise KeyTaken(written.name)


def _revoke(wanted: Wanted, name: str, line: str) -> Step:
    return Step(line, RevokeKey(actor=wanted.actor, workspace=wanted.manifest.workspace, name=name))
