"""The past: every state of each object, and which entry had a slug at a time."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime
from typing import Any

from tests.integration.projector.reference_values import ExpectedRefusal

State = dict[str, Any]


class States(list[tuple[datetime, Hashable, State | None]]):
    """States are never changed, so a copy may share them."""

    def __deepcopy__(self, _memo: object) -> States:
        return States(self)


class StateHistory:
    """``states``: time, object and its state from then on, None from its end on; in the order of
    the log, even if clocks went back."""

    def __init__(self) -> None:
        self.states = States()

    def next_object_id(self) -> int:
        """A name for an object that begins to exist."""
        return len(self.states)

    def record(self, at: datetime, object_id: Hashable, state: State | None) -> None:
        self.states.append((at, object_id, state and dict(state)))

    def times(self) -> list[datetime]:
        return sorted({at for at, _, _ in self.states})

    def slugs(self) -> set[tuple[Any, str, str, str]]:
        """Workspace and environment, type, slug and language of every entry that ever existed."""
        return {
            (state["place"], state["type"], state["slug"], state["language"])
            for _, _, state in self.states
            if _is(state, {"what": "entry"}) and state
        }

    def existing(self, at: datetime, **what: Any) -> list[State]:
        """The objects that existed at that time, oldest first."""
        last = {object_id: state for then, object_id, state in self.states if then <= at}
        return [state for state in last.values() if state and _is(state, what)]

    def entry_at(self, at: datetime, **what: Any) -> State:
        """The entry that had a slug at that time. If clocks differed, several may have had it: then
        the last."""
        found = []
        for object_id in {object_id for _, object_id, _ in self.states}:
            states = [
                (n, then, s) for n, (then, of, s) in enumerate(self.states) if of == object_id
            ]
            until_then = [state for _, then, state in states if then <= at]
            if until_then and _is(until_then[-1], what):
                later = states[len(until_then) :]
                given_up = [number for number, _, state in later if not _is(state, what)]
                found.append((given_up[0] if given_up else len(self.states), until_then[-1]))
        if not found:
            raise ExpectedRefusal(404)
        return max(found, key=lambda one: one[0])[1] or {}


def _is(state: State | None, what: State) -> bool:
    return state is not None and all(state.get(name) == given for name, given in what.items())
