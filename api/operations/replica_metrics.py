"""The figures of read replicas in ``/metrics``: what became of reads, in all workers, and the
replicas as this worker sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from read_side.replicas import Outcome, ReplicaStatus

READS = Counter(
    "contentlog_replica_reads",
    "Reads that a replica may serve, by outcome: all but 'used' were read on the primary",
    ["outcome"],
)
_COUNTS = {outcome: READS.labels(outcome) for outcome in get_args(Outcome)}


def count_replica_read(outcome: Outcome) -> None:
    _COUNTS[outcome].inc()


class ReplicaFigures(Collector):
    def __init__(self, replicas: Sequence[ReplicaStatus]) -> None:
        self._replicas = replicas

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if not self._replicas:
            return
        up = GaugeMetricFamily(
            "contentlog_replica_up", "1 if the read replica is in use", labels=["replica"]
        )
        lag = GaugeMetricFamily(
            "contentlog_replica_lag_events",
            "Events of the read model that the replica has not applied",
            labels=["replica"],
        )
        for one in self._replicas:
            up.add_metric([one.name], one.lag is not None)
            if one.lag is not None:
                lag.add_metric([one.name], one.lag)
        yield from (up, lag)
