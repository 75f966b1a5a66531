"""A stand-in for the parts of aiokafka that the connector in connectors.md uses.

A file replaces the broker: one topic with one partition, one JSON record per line. An empty line is
a record that the broker has removed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, Self


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class _Client:
    def __init__(self, *, bootstrap_servers: str) -> None:
        self._file = Path(bootstrap_servers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


class _Record(NamedTuple):
    headers: list[tuple[str, bytes]]


class AIOKafkaConsumer(_Client):
    def assign(self, partitions: list[TopicPartition]) -> None:
        [self._partition] = partitions

    async def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, len(self._lines()))

    async def beginning_offsets(
        self, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, int]:
        lines = self._lines()
        kept = (offset for offset, line in enumerate(lines) if line)
        return dict.fromkeys(partitions, next(kept, len(lines)))

    def seek(self, partition: TopicPartition, offset: int) -> None:
        assert partition == self._partition
        self._offset = offset

    async def getone(self) -> _Record:
        line = self._lines()[self._offset]
        # The real one waits for the next record.
        assert line, "the record has been removed"
        record = json.loads(line)
        return _Record([(name, text.encode()) for name, text in record["headers"].items()])

    def _lines(self) -> list[str]:
        return self._file.read_text("utf-8").splitlines() if self._file.exists() else []


class AIOKafkaProducer(_Client):
    def __init__(self, *, bootstrap_servers: str, enable_idempotence: bool) -> None:
        super().__init__(bootstrap_servers=bootstrap_servers)
        assert enable_idempotence

    async def send_and_wait(
        self, topic: str, value: bytes, *, key: bytes, partition: int, headers: Any
    ) -> None:
        assert (topic, partition) == ("content", 0)
        record = {
            "key": key.decode(),
            "value": json.loads(value),
            "headers": {name: text.decode() for name, text in headers},
        }
        # In one write: the process may be killed, and the file may be read, at any moment.
        with self._file.open("ab", buffering=0) as file:
            file.write(json.dumps(record).encode() + b"\n")
