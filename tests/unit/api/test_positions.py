"""Position tokens: only the service can read them, and each is valid for one workspace only."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from hypothesis import given
from hypothesis import strategies as st

from api.rest.tokens import Positions

KEY = bytes(range(32))
POSITIONS = Positions(KEY)
numbers = st.integers(min_value=0, max_value=2**63 - 1)
words = st.text(max_size=10)


@given(words, numbers)
def test_a_token_is_read_back(workspace: str, position: int) -> None:
    token = POSITIONS.token(workspace, position)
    assert token == Positions(KEY).token(workspace, position)
    assert POSITIONS.position(workspace, token) == position


@given(words, words, numbers)
def test_a_token_of_another_workspace_is_invalid(one: str, other: str, position: int) -> None:
    token = POSITIONS.token(one, position)
    assert POSITIONS.position(other, token) == (position if one == other else None)


@given(words, numbers)
def test_a_token_under_another_key_is_invalid(workspace: str, position: int) -> None:
    token = Positions(b"another").token(workspace, position)
    assert POSITIONS.position(workspace, token) is None


@given(st.text(max_size=40) | st.from_regex(r"[\w-]{32}", fullmatch=True))
def test_any_other_text_is_an_invalid_token(text: str) -> None:
    assert POSITIONS.position("acme", text) is None


@given(st.binary(max_size=200))
def test_any_other_bytes_are_an_invalid_token(decoded: bytes) -> None:
    """This holds for any length: the decoded number may exceed the largest position."""
    assert POSITIONS.position("acme", urlsafe_b64encode(decoded).decode()) is None


@given(st.integers(0, 31), st.sampled_from("AQgw-_=+/ é"))
def test_a_changed_token_is_invalid(at: int, character: str) -> None:
    token = POSITIONS.token("acme", 4711)
    changed = token[:at] + character + token[at + 1 :]
    assert POSITIONS.position("acme", changed) == (4711 if changed == token else None)


def test_a_token_does_not_reveal_the_distance_to_another() -> None:
    one, two = (POSITIONS.token("acme", position) for position in (1, 2))
    same = sum(a == b for a, b in zip(one, two, strict=True))
    assert same < 10
