"""When a server that does not respond is stopped because it has lost its socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from deploy.embedded import postmaster
from deploy.embedded.place import Place
from deploy.embedded.programs import Programs


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("ready", "recovers", "accepts", "has_socket", "stopped", "returns"),
    [
        (4.9, False, 5.3, False, None, 5.3),
        (4.9, False, 60.0, False, 9.9, 9.9),
        (0.0, False, 60.0, False, 5.0, 5.0),
        (0.0, False, 60.0, True, None, 5.0),
        (0.0, True, 60.0, True, None, 60.0),
    ],
)
def test_a_server_has_five_seconds_from_when_it_is_ready(
    monkeypatch: pytest.MonkeyPatch,
    ready: float,
    recovers: bool,
    accepts: float,
    has_socket: bool,
    stopped: float | None,
    returns: float,
) -> None:
    clock, stops = Clock(), list[float]()
    state = {"stopped": False}

    def stop(*_given: Any) -> None:
        stops.append(clock.now)
        state["stopped"] = True

    class place:  # noqa: N801
        cluster = server_lock = Path("nowhere")

    monkeypatch.setattr(postmaster, "time", clock)
    monkeypatch.setattr("deploy.embedded.files.take", lambda _path: None)
    monkeypatch.setattr(postmaster, "stop", stop)
    monkeypatch.setattr("deploy.embedded.sockets.url", lambda _place: "")
    monkeypatch.setattr("deploy.embedded.sockets.accepts", lambda _url: has_socket)

    def pg_isready(*_given: Any) -> int:
        if state["stopped"] or clock.now >= accepts:
            return postmaster.ACCEPTS
        return postmaster.REJECTS if recovers else postmaster.NO_RESPONSE

    monkeypatch.setattr(postmaster, "pg_isready", pg_isready)
    monkeypatch.setattr(
        postmaster, "_status", lambda _cluster: "ready" if clock.now >= ready else "starting"
    )
    programs = cast("Programs", None)
    postmaster.start(cast("Place", place), programs, programs, {})
    assert stops == ([] if stopped is None else [pytest.approx(stopped, abs=0.2)])
    assert clock.now == pytest.approx(returns, abs=0.2)
