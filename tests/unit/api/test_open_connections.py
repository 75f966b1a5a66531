"""A new connection at the limit closes the longest-idle connection of the address with the most
idle ones."""

from __future__ import annotations

import random
import resource

import pytest

from api.http.open_connections import MOST, OpenConnections, most_connections


class Fake:
    def __init__(self) -> None:
        self.is_closed = False

    def force_close(self) -> None:
        self.is_closed = True


def opened(connections: OpenConnections, *addresses: str) -> list[Fake]:
    made = [Fake() for _ in addresses]
    for one, address in zip(made, addresses, strict=True):
        connections.opened(one, address)
    return made


def test_the_longest_idle_is_closed_and_the_busy_are_spared() -> None:
    connections = OpenConnections(3)
    made = opened(connections, "a", "a", "a")
    connections.busy(made[0])
    connections.busy(made[1])
    connections.idle(made[1])
    made += opened(connections, "a", "a")
    assert [one.is_closed for one in made] == [False, True, True, False, False]


def test_of_many_addresses_the_longest_idle_is_closed() -> None:
    connections = OpenConnections(3)
    made = opened(connections, "a", "b", "c")
    connections.busy(made[0])
    connections.idle(made[0])
    made += opened(connections, "d", "e")
    assert [one.is_closed for one in made] == [False, True, True, False, False]


def test_an_address_with_many_connections_displaces_only_its_own() -> None:
    connections = OpenConnections(5)
    others = opened(connections, "a", "b")
    flood = opened(connections, *100 * ["c"])
    assert not any(one.is_closed for one in others)
    assert [one.is_closed for one in flood] == 97 * [True] + 3 * [False]
    opened(connections, "d")
    assert flood[97].is_closed
    assert not any(one.is_closed for one in others)


def test_busy_connections_do_not_count_against_their_address() -> None:
    connections = OpenConnections(5)
    working = opened(connections, "a", "a", "a")
    for one in working[:2]:
        connections.busy(one)
    idle = opened(connections, "b", "b")
    opened(connections, "c")
    assert [one.is_closed for one in working + idle] == [False, False, False, True, False]


def test_a_new_connection_is_refused_if_all_others_are_busy() -> None:
    connections = OpenConnections(2)
    made = opened(connections, "a", "b")
    for one in made:
        connections.busy(one)
    made += opened(connections, "c")
    assert [one.is_closed for one in made] == [False, False, True]
    connections.closed(made[0])
    connections.idle(made[0])
    [late] = opened(connections, "d")
    assert not late.is_closed


def test_the_state_agrees_with_a_simple_model() -> None:
    """The model closes the longest-idle connection of an address with the most idle ones."""
    rng, connections, live = random.Random(11), OpenConnections(20), dict[Fake, str]()
    idle: list[Fake] = []
    for _ in range(5_000):
        match rng.choice(["opened", "opened", "busy", "idle", "closed"]):
            case "opened":
                address = rng.choice("aaabbcde")
                [new] = opened(connections, address)
                live[new] = address
                idle.append(new)
            case act if live:
                one = rng.choice(list(live))
                getattr(connections, act)(one)
                if one in idle:
                    idle.remove(one)
                if act == "idle":
                    idle.append(one)
                if act == "closed":
                    del live[one]
        for gone in [one for one in live if one.is_closed]:
            of_each = {a: [one for one in idle if live[one] == a] for a in "abcde"}
            assert len(of_each[live[gone]]) == max(map(len, of_each.values()))
            assert gone is of_each[live[gone]][0]
            idle.remove(gone)
            del live[gone]
        assert len(live) <= 20


@pytest.mark.parametrize(
    ("files", "most"),
    [(64, 48), (1, 1), (20_000, MOST), (1_048_576, MOST), (resource.RLIM_INFINITY, MOST)],
)
def test_the_number_has_its_own_limit(
    monkeypatch: pytest.MonkeyPatch, files: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert most_connections() == most
