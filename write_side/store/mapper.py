"""Encodes events as JSON under versioned topics, and decodes them again.

Topics are names in a closed registry, not ``module:qualname``, because code may move while the log
stays. No transcoder with markers is used, because a client's JSON that looks like a marker must be
returned unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import asyncpg
import msgspec
from eventsourcing.persistence import Mapper, StoredEvent
from msgspec import Raw, Struct
from msgspec.structs import force_setattr

from write_side.domain.events import TOPICS, UNRECORDED, Event
from write_side.domain.refusals import ExplainedError

Upcast = Callable[[dict[str, Raw]], dict[str, Raw]]


UPCASTS: dict[str, tuple[str, Upcast]] = {}
"""Topic → the topic of the next version, and the function that converts the raw state to it."""


class UnknownTopic(ExplainedError):
    """An event of a topic that this version does not know. A reader halts at it and never skips
    it."""

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"the log has an event of topic {topic!r}, which this version of contentlog does not "
            "know, because a newer one wrote it: upgrade, then start again"
        )


class UndecodableEvent(ExplainedError):
    """An event whose state does not match its topic."""

    def __init__(self, topic: str, error: Exception) -> None:
        super().__init__(
            f"an event of topic {topic} does not decode ({error}), because the log is damaged: "
            "restore it from a backup"
        )


_UNREADABLE = (msgspec.DecodeError, LookupError, ValueError)
"""Exceptions that decoders and upcasters raise for a state that does not match."""


class StreamEvent(Struct, frozen=True):
    """An event and its place in its stream; versions count from 1."""

    originator_id: str
    originator_version: int
    event: Event


class EventMapper(Mapper[str]):
    """The library's mapper over a closed registry of msgspec Structs."""

    def __init__(
        self,
        topics: Mapping[str, type[Event]] = TOPICS,
        upcasts: Mapping[str, tuple[str, Upcast]] = UPCASTS,
    ) -> None:
        self._topic_of = {event: topic for topic, event in topics.items()}
        self._decoders = {topic: msgspec.json.Decoder(event) for topic, event in topics.items()}
        self._upcasts = dict(upcasts)
        self._encoder = msgspec.json.Encoder()
        self._raw = msgspec.json.Decoder(dict[str, Raw])

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        """A StreamEvent in the form that is appended, without its time."""
        return StoredEvent(
            originator_id=domain_event.originator_id,
            originator_version=domain_event.originator_version,
            topic=self._topic_of[type(domain_event.event)],
            state=self._encoder.encode(domain_event.event),
        )

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        """The StreamEvent, without its time. Raises UnknownTopic or UndecodableEvent."""
        event = self.decode(stored_event.topic, stored_event.state, UNRECORDED)
        return StreamEvent(str(stored_event.originator_id), stored_event.originator_version, event)

    def event_of(self, row: asyncpg.Record) -> Any:
        """The event of a row with the columns topic, state and at."""
        return self.decode(row["topic"], row["state"], row["at"])

    def decode(self, topic: str, state: bytes | str, at: datetime) -> Event:
        """The event of a row of the log, brought up to the current version of its topic."""
        event = self._event(topic, state)
        force_setattr(event, "at", at)
        return event

    def _event(self, topic: str, state: bytes | str) -> Event:
        decoder = self._decoders.get(topic)
        if decoder is None:
            return self._upcast(topic, state)
        try:
            return decoder.decode(state)
        except _UNREADABLE as error:
            raise UndecodableEvent(topic, error) from error

    def _upcast(self, topic: str, state: bytes | str) -> Event:
        if topic not in self._upcasts:
            raise UnknownTopic(topic)
        try:
            raw = self._raw.decode(state)
            while topic in self._upcasts:
                following, step = self._upcasts[topic]
                raw = step(raw)
                topic = following
        except _UNREADABLE as error:
            raise UndecodableEvent(topic, error) from error
        return self._event(topic, self._encoder.encode(raw))
