"""Log lines are written in batches: at most a tenth of a second late, and never lost."""

from __future__ import annotations

import asyncio
import io
import logging

import pytest

from deploy.logs import DELAY, MOST, LogLines


class Stream(io.BytesIO):
    """Records each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, some: object) -> int:
        assert isinstance(some, bytes)
        self.writes.append(some)
        return len(some)


async def test_lines_of_a_moment_are_one_write() -> None:
    lines = LogLines(stream := Stream())
    for line in (b"one", b"two", b"three"):
        lines.info(line)
    assert stream.writes == []
    await asyncio.sleep(DELAY * 1.5)
    assert stream.writes == [b"one\ntwo\nthree\n"]
    lines.add(b"four")
    await asyncio.sleep(DELAY * 1.5)
    assert stream.writes[1:] == [b"four\n"]


async def test_a_warning_and_what_came_before_it_are_written_at_once() -> None:
    lines = LogLines(stream := Stream())
    lines.info(b"before")
    lines.warning(b"a warning")
    assert stream.writes == [b"before\na warning\n"]
    lines.info(b"then")
    lines.error(b"an error")
    assert stream.writes[1:] == [b"then\nan error\n"]


async def test_lines_of_the_standard_library_keep_their_place() -> None:
    lines = LogLines(stream := Stream())
    lines.add(b"ours")
    lines.handle(logging.makeLogRecord({"msg": "theirs"}))
    assert stream.writes == [b"ours\ntheirs\n"]


async def test_many_bytes_do_not_wait() -> None:
    lines = LogLines(stream := Stream())
    lines.add(b"x" * MOST)
    lines.add(b"y")
    assert len(stream.writes) == 1


def test_without_an_event_loop_nothing_waits() -> None:
    lines = LogLines(stream := Stream())
    lines.add(b"one")
    assert stream.writes == [b"one\n"]


def test_lines_left_by_an_ended_loop_are_written_with_the_next_line_or_at_the_end() -> None:
    lines = LogLines(stream := Stream())

    async def log() -> None:
        lines.add(b"left")

    asyncio.run(log())
    assert stream.writes == []
    lines.add(b"next")
    assert stream.writes == [b"left\nnext\n"]
    asyncio.run(log())
    lines.close()
    assert stream.writes[1:] == [b"left\n"]


async def test_a_line_from_a_thread_joins_those_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    # Seconds; a busy machine may start the thread later than DELAY.
    monkeypatch.setattr("deploy.logs.DELAY", 60.0)
    lines = LogLines(stream := Stream())
    lines.add(b"one")
    await asyncio.to_thread(lines.add, b"from a thread")
    lines.close()
    assert stream.writes == [b"one\nfrom a thread\n"]
