"""Idle connections make room for new ones, the longest idle first."""

from __future__ import annotations

from api.http.open_connections import OpenConnections


class Fake:
    def __init__(self) -> None:
        self.is_closed = False

    def force_close(self) -> None:
        self.is_closed = True


def test_the_longest_idle_is_closed_and_the_busy_are_spared() -> None:
    connections, made = OpenConnections(3), [Fake() for _ in range(5)]
    for one in made[:3]:
        connections.opened(one)
    connections.busy(made[0])
    connections.busy(made[1])
    connections.idle(made[1])
    connections.opened(made[3])
    connections.opened(made[4])
    assert [one.is_closed for one in made] == [False, True, True, False, False]


def test_a_new_one_is_refused_where_all_others_are_busy() -> None:
    connections, made = OpenConnections(2), [Fake() for _ in range(4)]
    for one in made[:2]:
        connections.opened(one)
        connections.busy(one)
    connections.opened(made[2])
    assert [one.is_closed for one in made] == [False, False, True, False]
    connections.closed(made[0])
    connections.idle(made[0])
    connections.opened(made[3])
    assert not made[3].is_closed
