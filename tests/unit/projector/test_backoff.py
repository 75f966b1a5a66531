"""How a projector begins again."""

from __future__ import annotations

from projector.process import LONG_SESSION, MOST_PATIENCE, PATIENCE, Backoff


def test_a_statement_that_was_not_answered_in_time_is_given_longer() -> None:
    following = Backoff()
    given = []
    for _ in range(6):
        following.after(TimeoutError(), following.patience)
        given.append(following.patience)
    assert given[:2] == [2 * PATIENCE, 4 * PATIENCE]
    assert given[-1] == MOST_PATIENCE


def test_what_ends_otherwise_says_nothing_of_how_long_statements_take() -> None:
    following = Backoff()
    following.after(ConnectionError(), 1)
    following.after(None, 1)
    assert following.patience == PATIENCE


def test_after_a_long_life_patience_is_as_at_first() -> None:
    following = Backoff()
    following.after(TimeoutError(), 1)
    following.after(TimeoutError(), LONG_SESSION + 1)
    assert following.patience == PATIENCE


def test_pauses_grow_to_a_second_while_lives_are_short() -> None:
    following = Backoff()
    pauses = []
    for _ in range(7):
        following.after(ConnectionError(), 0.1)
        pauses.append(following.pause)
    assert pauses == sorted(pauses)
    assert pauses[-1] == 1
    following.after(ConnectionError(), 11)
    assert following.pause < 0.1
