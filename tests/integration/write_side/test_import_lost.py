"""A step whose acknowledgement was lost is reported as executed by this request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.write_side import import_fixtures
from tests.integration.write_side.import_fixtures import OPERATOR, SCOPE, imported
from write_side.imports.report import revert_import
from write_side.repository import Repository
from write_side.store.append import Appended
from write_side.store.appender import Appender

FILE = "Title,Body\nOne,x\nTwo,x\n"


class Losing:
    """Each append is executed, and its first response is lost."""

    def __init__(self) -> None:
        self.lost = 0
        self._call = Appender._call

    async def __call__(self, appender: Appender, appends: Any, *, check_streams: bool) -> Any:
        answer = await self._call(appender, appends, check_streams=check_streams)
        if isinstance(answer[0], Appended) and not answer[0].replayed:
            self.lost += 1
            raise ConnectionResetError
        return answer


async def test_import_and_revert_are_reported_as_not_recorded_before(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    magazine = await import_fixtures.magazine(repository)
    losing = Losing()
    monkeypatch.setattr(Appender, "_call", lambda *of, **properties: losing(*of, **properties))
    report = await imported(magazine, FILE)
    assert (report.counts.new, report.replayed) == (2, False)
    reverted = await revert_import(magazine, SCOPE, "i-1", OPERATOR)
    assert (len(reverted.deleted), reverted.replayed) == (2, False)
    assert reverted.position == report.position + 3 == await magazine.recorder.head()
    assert losing.lost == 2
    log = await magazine.recorder.log(report.position - 1, 10)
    assert (report.at, reverted.at) == (log[0]["at"], log[-1]["at"])
    again = await imported(magazine, FILE)
    assert (again.replayed, again.at) == (True, report.at)
    reverted_again = await revert_import(magazine, SCOPE, "i-1", OPERATOR)
    assert (reverted_again.replayed, reverted_again.at) == (True, reverted.at)
