"""How the high-availability trial evaluates times and titles."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.trials.ha import Line, summary
from tests.trials.ha_rounds import Round
from tests.trials.workload import Ledger, LogOfTrial


def test_an_entry_that_was_sent_before_the_fault_does_not_count_as_visible() -> None:
    ledger = Ledger()
    ledger.read = [(11.0, 9.5), (14.0, 0.0), (17.5, 12.0), (18.0, 13.0)]
    assert ledger.visible(since=10.0) == 7.5
    assert ledger.visible(since=12.0) == 6.0
    assert ledger.visible(since=13.0) is None


def test_the_longest_pause_counts_from_the_fault_and_to_the_end() -> None:
    ledger = Ledger()
    ledger.acknowledged = {"a": 1.0, "b": 12.0, "c": 13.0}
    assert ledger.longest_pause(10.0, 14.0) == 2.0
    assert ledger.longest_pause(10.0, 20.0) == 7.0
    assert ledger.longest_pause(2.0, 9.0) == 7.0


def test_lost_and_doubled_titles_are_named() -> None:
    log = LogOfTrial(events=4, head=4, newest=datetime.now(UTC), times={"a": 1, "b": 2})
    assert log.lost(["a", "b", "c"]) == {"c"}
    assert log.twice == {"b"}


def test_the_summary_has_a_row_for_each_fault_with_median_and_maximum() -> None:
    def line(fault: str, seconds: float) -> Line:
        measured = Round(fault, seconds, seconds, seconds, seconds, seconds)
        return Line("c0ffee", seconds, 10, measured)

    text = summary([line("kill", 7.0), line("kill", 9.0), line("freeze", 12.0)])
    first, _, _, *rows = text.splitlines()
    assert first.startswith("30 acknowledged writes: none lost, none twice, no gap")
    assert first.endswith("commit c0ffee; load 7.0 to 12.0")
    assert rows == [f"| kill | 2 |{' 8.0 / 9.0 |' * 5}", f"| freeze | 1 |{' 12.0 / 12.0 |' * 5}"]
