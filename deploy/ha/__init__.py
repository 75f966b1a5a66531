"""A trial of the event store's high availability: three PostgreSQL nodes under Patroni with etcd on
one machine, whose leader is killed, frozen and cut off while clients write."""
