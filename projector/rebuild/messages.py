"""What a rebuild and its worker processes say to each other: JSON, a line each."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from projector.rebuild.replay import Replayed
from write_side.store.streams import Range


class Job(Struct, frozen=True):
    """What a worker is for. It comes over a pipe: a command line is there for everybody to see."""

    event_store_url: str
    read_model_url: str
    schema: str
    epoch: int
    through: int
    page_bytes: int


class Read(Struct, frozen=True, tag=True):
    """So many more events have been read."""

    events: int


class Failed(Struct, frozen=True, tag=True):
    """The worker has given up."""

    kind: str
    reason: str


Message = Read | Failed | Replayed

encode = msgspec.json.Encoder().encode
message = msgspec.json.Decoder(Message).decode
job = msgspec.json.Decoder(Job).decode
range_of = msgspec.json.Decoder(Range).decode
