"""The trial of high availability: one round of each fault. It needs root, network namespaces, and
Debian's patroni, etcd-server and postgresql."""

from __future__ import annotations

import pytest

from deploy.ha import trial
from deploy.ha.cluster import TrialImpossible, check_possible

pytestmark = pytest.mark.slow


async def test_no_acknowledged_write_is_lost_when_the_leader_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    try:
        check_possible()
    except TrialImpossible as missing:
        pytest.skip(str(missing))
    monkeypatch.setattr(trial, "FAULTS", trial.FAULTS[:1])
    lines: list[str] = []
    [done] = await trial.run(1, lines.append)
    assert done.fault == "kill"
    assert lines[-1].endswith("none lost, none twice, no gap")
