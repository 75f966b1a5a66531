"""The high-availability trial: one round of one fault.

It needs root, network namespaces, and Debian's patroni, etcd-server and postgresql.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trials import ha as trial
from tests.trials.ha_cluster import BRIDGE, HOME, TrialImpossible, check_possible, ip
from tests.trials.ha_rounds import FAULTS

pytestmark = pytest.mark.slow


async def test_no_acknowledged_write_is_lost_when_the_leader_is_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    try:
        check_possible()
    except TrialImpossible as missing:
        pytest.skip(str(missing))
    monkeypatch.setattr(trial, "FAULTS", FAULTS[1:2])
    record, stdout = tmp_path / "record", list[str]()
    for _ in range(2):  # The second run resumes the record, and has nothing left to do.
        [line] = await trial.run(1, record, stdout.append)
        assert (line.round.fault, line.acknowledged > 0) == ("freeze", True)
    assert len(stdout) == 1
    assert not HOME.exists()
    assert BRIDGE not in ip("netns", "list") + ip("link")
