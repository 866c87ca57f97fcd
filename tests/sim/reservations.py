"""Maintenance reservations come into force and end."""

from windlass.slurm.wire import WireNode, WireReservation
from windlass.testing.fake_cluster import FakeCluster
from windlass.values.hostlist import expand

MAINTENANCE = "MAINTENANCE"


def tick(cluster: FakeCluster) -> None:
    now = cluster.now()
    over = [each.name for each in cluster.reservations.values() if each.end_time.number <= now]
    for name in over:
        del cluster.reservations[name]
        cluster.touch("reservations")
    in_force = {
        node: each.name
        for each in cluster.reservations.values()
        if _begun(each, now)
        for node in expand(each.node_list)
    }
    for name, node in cluster.nodes.items():
        _show(cluster, node, in_force.get(name, ""))


def _begun(reservation: WireReservation, now: float) -> bool:
    return "MAINT" in (reservation.flags or ()) and reservation.start_time.number <= now


def _show(cluster: FakeCluster, node: WireNode, reservation: str) -> None:
    if node.reservation != reservation:
        words = [word for word in node.state or () if word != MAINTENANCE]
        node.state = [*words, MAINTENANCE] if reservation else words
        node.reservation = reservation
        cluster.touch("nodes")
