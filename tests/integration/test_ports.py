"""Ports that the tests use."""

import itertools

import pytest

from tests.processes import free_port


def test_workers_that_begin_at_the_same_number_get_different_ports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for worker in ("gw0", "gw1", "gw2"):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        monkeypatch.setattr("tests.processes._numbers", itertools.count())
        found += [free_port() for _ in range(20)]
    assert len(set(found)) == len(found)
