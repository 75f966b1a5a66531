"""The eventsourcing library's own test cases for recorders, unmodified, on our event store."""

from __future__ import annotations

from typing import ClassVar
from uuid import uuid4

import pytest
from eventsourcing.tests.persistence import (
    ApplicationRecorderTestCase,
    NonInterleavingNotificationIDsBaseCase,
)

from tests.integration.write_side.library_recorder import SynchronousRecorder


class OnOurStore:
    """Gives the library's cases a recorder on a database of their own. Stream ids are text."""

    url: str
    recorders: ClassVar[list[SynchronousRecorder]] = []

    @pytest.fixture(autouse=True)
    def _database(self, database_url: str) -> None:
        self.url = database_url

    def new_originator_id(self) -> str:
        return f"entry/{uuid4()}"

    def create_recorder(self) -> SynchronousRecorder:
        self.recorders.append(SynchronousRecorder(self.url))
        return self.recorders[-1]

    def tearDown(self) -> None:
        while self.recorders:
            self.recorders.pop().close()


class TestApplicationRecorder(OnOurStore, ApplicationRecorderTestCase[SynchronousRecorder]):
    """insert, select, notifications, concurrency, throughput, subscriptions."""

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestNotificationsDoNotInterleave(OnOurStore, NonInterleavingNotificationIDsBaseCase):
    """Two concurrent appends: the positions of each are contiguous."""


del ApplicationRecorderTestCase, NonInterleavingNotificationIDsBaseCase
