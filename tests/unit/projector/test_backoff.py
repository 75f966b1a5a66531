"""How a projector restarts after a failure."""

from __future__ import annotations

from projector.process import LONG_SESSION, MOST_PATIENCE, PATIENCE, Backoff


def test_a_statement_that_timed_out_gets_more_time() -> None:
    following = Backoff()
    given = []
    for _ in range(6):
        following.after(TimeoutError(), following.patience)
        given.append(following.patience)
    assert given[:2] == [2 * PATIENCE, 4 * PATIENCE]
    assert given[-1] == MOST_PATIENCE


def test_other_errors_do_not_change_the_statement_timeout() -> None:
    following = Backoff()
    following.after(ConnectionError(), 1)
    following.after(None, 1)
    assert following.patience == PATIENCE


def test_after_a_long_session_the_timeout_is_reset() -> None:
    following = Backoff()
    following.after(TimeoutError(), 1)
    following.after(TimeoutError(), LONG_SESSION + 1)
    assert following.patience == PATIENCE


def test_pauses_grow_to_a_second_while_sessions_are_short() -> None:
    following = Backoff()
    pauses = []
    for _ in range(7):
        following.after(ConnectionError(), 0.1)
        pauses.append(following.pause)
    assert pauses == sorted(pauses)
    assert pauses[-1] == 1
    following.after(ConnectionError(), 11)
    assert following.pause < 0.1
