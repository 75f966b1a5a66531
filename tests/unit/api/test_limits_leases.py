"""Rate-limit leases: few calls to the counter, never a request over the limit, and no refusal while
requests are left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from api.rate_limits import leases as module
from api.rate_limits.bucket import LimitStatus
from api.rate_limits.leases import Leases
from tests.unit.api.counter_doubles import NOON, Clock, FakeCounter, settled
from write_side.store.rate_limits import WINDOW, Demand, Grant


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def counter(clock: Clock) -> FakeCounter:
    return FakeCounter(clock.unix)


@pytest.fixture
def leases(counter: FakeCounter, clock: Clock) -> Leases:
    module.AWAY.set(0)  # another test of this process may have set it
    return Leases(counter, clock)


async def counted(leases: Leases, n: int, limit: int, name: str = "a") -> list[LimitStatus]:
    return [await leases.count(name, limit) for _ in range(n)]


class TestWindows:
    async def test_exactly_the_limit_passes_until_the_window_ends(
        self, leases: Leases, clock: Clock
    ) -> None:
        assert [s.passed for s in await counted(leases, 7, 5)] == [True] * 5 + [False] * 2
        clock.now = WINDOW - 0.001
        assert not (await leases.count("a", 5)).passed
        clock.now = WINDOW
        assert [s.passed for s in await counted(leases, 7, 5)] == [True] * 5 + [False] * 2

    async def test_remaining_counts_down_to_0_and_stays_there(self, leases: Leases) -> None:
        remaining = [s.remaining for s in await counted(leases, 202, 200)]
        assert remaining == [*range(199, -1, -1), 0, 0]

    async def test_reset_is_the_end_and_wait_the_seconds_to_it(
        self, leases: Leases, clock: Clock
    ) -> None:
        for now, wait in ((0, 60), (0.5, 60), (1, 59), (58.5, 2), (59.1, 1), (59.999, 1)):
            clock.now = now
            standing = (await counted(leases, 2, 1))[1]
            assert (standing.reset, standing.wait) == (NOON + WINDOW, wait)

    async def test_the_counters_clock_defines_the_window(self, counter: FakeCounter) -> None:
        """The counter's clock is 40 s ahead of the process's clock."""
        ours = Clock()
        counter._clock = lambda: NOON + 40 + ours.now
        leases = Leases(counter, ours)
        await counted(leases, 1, 1)
        ours.now = 19.9
        assert not (await leases.count("a", 1)).passed
        ours.now = 20.0
        assert (await leases.count("a", 1)).passed
        assert leases.peek("unheard of", 9) == LimitStatus(True, 9, 9, NOON + 2 * WINDOW)

    async def test_a_counters_clock_set_back_by_an_hour_delays_the_next_window_by_one(
        self, leases: Leases, counter: FakeCounter, clock: Clock
    ) -> None:
        ahead = 3600.0
        counter._clock = lambda: clock.unix() + ahead
        assert [s.passed for s in await counted(leases, 3, 2)] == [True, True, False]
        ahead, clock.now = 0.0, WINDOW
        [refused] = await counted(leases, 1, 2)
        assert (refused.passed, refused.wait) == (False, WINDOW)
        await settled()
        clock.now = 2 * WINDOW
        assert [s.passed for s in await counted(leases, 3, 2)] == [True, True, False]

    async def test_a_lease_whose_response_is_read_late_ends_with_its_window(
        self, leases: Leases, counter: FakeCounter, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The process was paused between the counter's answer and the moment it read it."""
        answer, arrived = counter.lease, list[asyncio.Task[LimitStatus]]()

        async def paused(demands: Sequence[Demand]) -> list[Grant]:
            monkeypatch.setattr(counter, "lease", answer)
            grants = await answer(demands)
            clock.now = WINDOW
            others = await counted(Leases(counter, clock), 1_000, 1_000)
            assert all(status.passed for status in others)
            arrived.append(asyncio.create_task(leases.count("a", 1_000)))
            await settled()
            return grants

        monkeypatch.setattr(counter, "lease", paused)
        await counted(leases, 1, 1_000)
        assert not (await arrived[0]).passed
        assert not (await leases.count("a", 1_000)).passed

    async def test_a_peek_counts_nothing(self, leases: Leases) -> None:
        await counted(leases, 3, 10)
        assert [leases.peek("a", 10).remaining for _ in range(5)] == [7] * 5

    async def test_a_changed_limit_applies_from_the_next_request(self, leases: Leases) -> None:
        assert not (await counted(leases, 3, 2))[-1].passed
        assert [s.passed for s in await counted(leases, 3, 4)] == [True, True, False]
        assert not (await leases.count("a", 1)).passed

    async def test_a_refusal_by_the_old_limit_is_not_remembered_for_the_new_one(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        await leases.count("a", 1)
        counter.open.clear()
        refused = asyncio.create_task(Leases(counter, leases._clock).count("a", 1))
        old = asyncio.create_task(leases.count("b", 0))
        await settled()
        new = asyncio.create_task(leases.count("b", 2))
        counter.open.set()
        assert [s.passed for s in await asyncio.gather(refused, old, new)] == [False, False, True]


class TestCalls:
    async def test_a_busy_bucket_demands_many_requests_at_once(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        await counted(leases, 1_000, 10_000)
        assert len(counter.calls) <= 3

    async def test_requests_during_a_call_go_into_the_next(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        counter.open.clear()
        first = asyncio.create_task(leases.count("a", 60))
        await settled()
        others = [asyncio.create_task(leases.count(name, 60)) for name in "abc" * 10]
        await settled()
        assert len(counter.calls) == 1
        counter.open.set()
        assert all(s.passed for s in await asyncio.gather(first, *others))
        assert [[(d.bucket, d.requested) for d in call] for call in counter.calls] == [
            [("a", 1)],
            [("a", 10), ("b", 10), ("c", 10)],
        ]

    async def test_requests_meanwhile_are_served_from_spare_leases(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        counter.open.clear()
        first = asyncio.create_task(leases.count("a", 10_000))
        await settled()
        others = [asyncio.create_task(leases.count("a", 10_000)) for _ in range(9)]
        await settled()
        counter.open.set()
        remaining = [s.remaining for s in await asyncio.gather(first, *others)]
        assert remaining == list(range(9_999, 9_989, -1))
        assert len(counter.calls) == 1

    async def test_a_final_refusal_causes_no_further_call(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        await counted(leases, 3, 2)
        calls = len(counter.calls)
        await counted(leases, 100, 2)
        assert len(counter.calls) == calls

    async def test_a_cancelled_request_costs_nothing(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        counter.open.clear()
        gone, stays = (asyncio.create_task(leases.count("a", 2)) for _ in range(2))
        await settled()
        gone.cancel()
        counter.open.set()
        assert (await stays).passed
        assert [s.passed for s in await counted(leases, 2, 2)] == [True, False]


class TestGivingBack:
    async def test_an_old_lease_is_returned_and_used_by_another_process(
        self, leases: Leases, counter: FakeCounter, clock: Clock
    ) -> None:
        other = Leases(counter, clock)
        await leases.count("a", 320)
        assert counter.free("a", 320) == 319 - 319 // 16
        assert [s.passed for s in await counted(other, 310, 320)].count(False) == 10
        clock.now = module.MAX_LEASE_AGE
        leases.give_back()
        await settled()
        assert [s.passed for s in await counted(other, 20, 320)] == [True] * 19 + [False]

    async def test_a_lease_being_returned_is_not_used(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        await leases.count("a", 320)
        counter.open.clear()
        leases.give_back(0)
        await settled()
        late = asyncio.create_task(leases.count("a", 320))
        await settled()
        assert not late.done()
        counter.open.set()
        assert (await late).remaining == 318

    async def test_a_young_lease_is_kept(
        self, leases: Leases, counter: FakeCounter, clock: Clock
    ) -> None:
        await leases.count("a", 320)
        clock.now = module.MAX_LEASE_AGE - 0.01
        leases.give_back()
        await settled()
        assert len(counter.calls) == 1

    async def test_returned_requests_are_not_shown(self, leases: Leases) -> None:
        await leases.count("a", 320)
        leases.give_back(0)
        await settled()
        assert leases.peek("a", 320).remaining == 319

    async def test_all_leases_are_returned_at_the_end(
        self, counter: FakeCounter, clock: Clock
    ) -> None:
        async with Leases(counter, clock) as leases:
            await leases.count("a", 320)
        assert counter.free("a", 320) == 319

    async def test_a_lease_of_an_old_window_is_not_used(
        self, leases: Leases, counter: FakeCounter, clock: Clock
    ) -> None:
        await leases.count("a", 320)
        clock.now = WINDOW
        await leases.count("a", 320)
        assert counter.free("a", 320) == 319 - 319 // 16


class TestCost:
    """A claim of several requests gets all of them or none."""

    async def test_a_claim_passes_completely_or_takes_nothing(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        assert (await leases.count("a", 100, 60)).passed
        assert not (await leases.count("a", 100, 60)).passed
        assert (await leases.count("a", 100, 40)).passed
        assert not (await leases.count("a", 100, 1)).passed
        assert counter.free("a", 100) == 0

    async def test_a_claim_above_the_limit_takes_all_of_it(self, leases: Leases) -> None:
        assert (await leases.count("a", 100, 101)).passed
        assert not (await leases.count("a", 100, 1)).passed

    async def test_the_grant_of_a_refused_claim_is_returned(
        self, leases: Leases, counter: FakeCounter, clock: Clock
    ) -> None:
        other = Leases(counter, clock)
        await leases.count("a", 100, 60)
        assert not (await leases.count("a", 100, 50)).passed
        assert not (await other.count("a", 100, 2)).passed
        clock.now = module.MAX_LEASE_AGE
        leases.give_back()
        await settled()
        assert (await other.count("a", 100, 40)).passed

    async def test_a_charge_takes_what_is_left_and_the_next_one_sees_it(
        self, leases: Leases, clock: Clock
    ) -> None:
        leases.charge("a", 100, 70)
        await settled()
        assert not leases.is_short("a", 100)
        leases.charge("a", 100, 70)
        await settled()
        assert leases.is_short("a", 100)
        assert not (await leases.count("a", 100, 1)).passed
        clock.now = WINDOW
        assert not leases.is_short("a", 100)
        assert (await leases.count("a", 100, 1)).passed

    async def test_charges_are_served_from_the_lease(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        for _ in range(100):
            leases.charge("a", 1_000_000, 5)
            await settled()
        assert len(counter.calls) == 1
        leases.give_back(0)
        await settled()
        assert counter.free("a", 1_000_000) == 1_000_000 - 500

    async def test_charges_beyond_the_lease_wait_for_each_other(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        for _ in range(100):
            leases.charge("a", 1_000_000, 250)
            await settled()
        assert len(counter.calls) == 1
        leases.settle()
        await settled()
        assert len(counter.calls) == 2
        leases.give_back(0)
        await settled()
        assert counter.free("a", 1_000_000) == 1_000_000 - 100 * 250

    async def test_a_charge_does_not_wait_where_it_may_refuse_requests(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        for number in range(1, 10):
            leases.charge("a", 10_000, 1_500)
            await settled()
            assert leases.is_short("a", 10_000) == (number > 6)
        assert len(counter.calls) == 9

    async def test_without_the_counter_nothing_is_refused(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        counter.away = True
        assert (await leases.count("a", 100, 60)).passed
        leases.charge("a", 100, 60)
        assert (await leases.count("a", 100, 60)).passed

    @given(
        limit=st.integers(1, 300),
        steps=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 90)), max_size=30),
    )
    async def test_processes_together_never_exceed_the_limit(
        self, limit: int, steps: list[tuple[int, int]]
    ) -> None:
        clock = Clock()
        counter = FakeCounter(clock.unix)
        processes = [Leases(counter, clock) for _ in range(3)]
        passed = 0
        for process, amount in steps:
            requested = min(amount, limit)
            passed += requested * (await processes[process].count("a", limit, requested)).passed
        assert passed <= limit


class TestMemory:
    async def test_buckets_of_old_windows_are_forgotten(
        self, leases: Leases, counter: FakeCounter, clock: Clock
    ) -> None:
        for n in range(100):
            await leases.count(f"n{n}", 10)
        clock.now = WINDOW
        await leases.count("a", 10)
        await settled()
        leases.forget_ended()
        assert list(leases._buckets) == list(counter._held) == ["a"]
        assert counter.expired == [NOON, NOON + WINDOW]

    async def test_a_request_is_counted_if_its_bucket_is_forgotten_during_a_return(
        self, leases: Leases, counter: FakeCounter, clock: Clock
    ) -> None:
        """The return of the old bucket must not remove the new one from the queue."""
        await leases.count("a", 320)
        counter.open.clear()
        leases.give_back(0)
        await settled()
        clock.now = WINDOW
        leases.forget_ended()
        counted = asyncio.create_task(leases.count("a", 320))
        await settled()
        counter.open.set()
        await settled()
        assert counted.done()

    async def test_the_number_of_buckets_is_limited(
        self, leases: Leases, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MAX_BUCKETS", 10)
        for n in range(100):
            assert (await counted(leases, 2, 1, f"n{n}"))[0].passed
        assert len(leases._buckets) == 10
        assert not (await leases.count("n0", 1)).passed, "the counter knows it still"

    async def test_a_bucket_that_always_owes_does_not_keep_the_others(
        self, leases: Leases, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MAX_BUCKETS", 10)
        await leases.count("cost", 1_000_000, 2)
        while not leases._buckets["cost"].busy:
            leases.charge("cost", 1_000_000, 10_000)
        for n in range(100):
            await leases.count(f"n{n}", 10)
        assert len(leases._buckets) == 10
        assert "cost" in leases._buckets


class TestCounterAway:
    async def test_an_unavailable_counter_is_logged_once_and_used_again_later(
        self, leases: Leases, counter: FakeCounter, clock: Clock
    ) -> None:
        await counted(leases, 2, 2)
        clock.now = WINDOW
        counter.away = True
        before = module.UNCOUNTED._value.get()
        with structlog.testing.capture_logs() as logs:
            assert all(s.passed for s in await counted(leases, 50, 2))
            assert (module.AWAY._value.get(), module.UNCOUNTED._value.get() - before) == (1, 50)
            assert len(counter.calls) == 4, "two more, and nobody waits for it again"
            clock.now += module.RETRY
            await leases.check_if_back()
            assert (await leases.count("a", 2)).passed
            counter.away = False
            await leases.check_if_back()
            assert (await leases.count("a", 2)).passed, "too early to look again"
            clock.now += module.RETRY
            await leases.check_if_back()
        assert [line["log_level"] for line in logs] == ["error", "info"]
        assert module.AWAY._value.get() == 0
        assert [s.passed for s in await counted(leases, 3, 2)] == [True, True, False]

    async def test_a_failed_clean_up_does_not_make_the_counter_unavailable(
        self, leases: Leases, counter: FakeCounter, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The connection may be lost in the middle of the clean-up."""

        async def fails(_window: int) -> bool:
            raise ConnectionResetError

        with monkeypatch.context() as patch:
            patch.setattr(counter, "expire", fails)
            assert [s.passed for s in await counted(leases, 3, 2)] == [True, True, False]
        assert module.AWAY._value.get() == 0
        clock.now = WINDOW
        assert [s.passed for s in await counted(leases, 3, 2)] == [True, True, False]
        assert counter.expired == [NOON + WINDOW], "whoever comes first in a window tries again"

    async def test_possibly_returned_leases_are_not_returned_again(
        self, leases: Leases, counter: FakeCounter
    ) -> None:
        """The counter executes the call, but its response is lost."""
        await leases.count("a", 320)
        held = counter.free("a", 320)
        counter.loses = 1
        leases.give_back(0)
        await settled()
        assert (held, counter.free("a", 320)) == (319 - 319 // 16, 319)
        assert (await leases.count("a", 320)).passed

    async def test_a_stall_of_the_process_is_not_a_silent_counter(
        self, leases: Leases, counter: FakeCounter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The response has arrived when the event loop resumes, long after the timeout."""
        monkeypatch.setattr(module, "CALL_TIMEOUT", 0.01)
        counter.open.clear()
        waiting = asyncio.create_task(leases.count("a", 5))
        await settled()
        counter.open.set()
        time.sleep(0.1)  # noqa: ASYNC251 - the stall
        assert (await waiting).remaining == 4
        assert [status.remaining for status in await counted(leases, 2, 5)] == [3, 2]
        assert len(counter.calls) >= 1
        assert leases._away_since is None

    async def test_a_hanging_call_is_aborted(
        self, leases: Leases, counter: FakeCounter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "CALL_TIMEOUT", 0.01)
        counter.open.clear()
        both = await asyncio.gather(leases.count("a", 2), leases.count("b", 2))
        assert [s.passed for s in both] == [True, True]


REQUEST = st.tuples(st.just("request"), st.integers(0, 2), st.integers(1, 40))
GIVE_BACK = st.tuples(st.just("give back"), st.integers(0, 2), st.just(0))
PASS_TIME = st.tuples(st.just("pass time"), st.just(0), st.integers(1, 40))


class TestLaws:
    @given(
        limit=st.integers(1, 300),
        steps=st.lists(st.one_of(REQUEST, REQUEST, GIVE_BACK, PASS_TIME), max_size=40),
    )
    async def test_the_limit_is_never_exceeded_and_none_refused_while_any_is_free(
        self, limit: int, steps: list[tuple[str, int, int]]
    ) -> None:
        clock = Clock()
        counter = FakeCounter(clock.unix)
        processes = [Leases(counter, clock) for _ in range(3)]
        passed: dict[int, int] = {}
        for what, process, n in steps:
            if what == "pass time":
                clock.now += n
            elif what == "give back":
                processes[process].give_back()
                await settled()
            else:
                several = (processes[process].count("a", limit) for _ in range(n))
                for standing in await asyncio.gather(*several):
                    assert 0 <= standing.remaining < limit or not standing.passed
                    if standing.passed:
                        passed[standing.reset] = passed.get(standing.reset, 0) + 1
                    else:
                        assert counter.free("a", limit) == 0
        assert all(n <= limit for n in passed.values())

    @settings(max_examples=15)
    @given(limit=st.integers(1, 2_000), processes=st.integers(1, 5))
    async def test_the_whole_limit_can_be_used(self, limit: int, processes: int) -> None:
        clock = Clock()
        counter = FakeCounter(clock.unix)
        asked = [Leases(counter, clock) for _ in range(processes)]
        passed = 0
        for step in range(limit + 50):
            passed += (await asked[step % processes].count("a", limit)).passed
        clock.now += 1
        for leases in asked:
            leases.give_back()
        await settled()
        for step in range(limit):
            passed += (await asked[step % processes].count("a", limit)).passed
            if step % 50 == 49:
                clock.now += 1
                for leases in asked:
                    leases.give_back()
                await settled()
                clock.now = 2
        assert passed == limit
