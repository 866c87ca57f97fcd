"""Where a pod may run by Kubernetes' rules, Slurm hears, and puts it there."""

from tests.e2e.bridge.manifests import more, on, pod
from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged, job_of, node_of

PORT = "ports: [{containerPort: 18080, hostPort: 18080}]"
VOLUME = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: pinned}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pinned}
spec:
  storageClassName: pinned
  capacity: {storage: 10Mi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /var/tmp/pinned, type: DirectoryOrCreate}
  nodeAffinity:
    required:
      nodeSelectorTerms:
        - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [NODE]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: pinned}
spec:
  storageClassName: pinned
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 10Mi}}
"""
MOUNTED = """volumes: [{name: v, persistentVolumeClaim: {claimName: pinned}}]
  securityContext: {runAsUser: 0}"""


def test_pods_that_want_one_port_have_nodes_of_their_own_and_wait_for_one(
    bridged: Bridged,
) -> None:
    node, other = sorted(bridged.bridge.ready())
    bridged.apply(more(pod("here"), spec=on(node), main=PORT))
    here = bridged.wait_phases("Running", 1)["here"]
    assert node_of(here) == node
    assert candidates(bridged, job_of(here)) in ((node, ""), ("", other))

    bridged.apply(more(pod("there"), main=PORT))
    there = bridged.wait_phases("Running", 2)["there"]
    assert node_of(there) == other
    assert candidates(bridged, job_of(there)) in ((other, ""), ("", node))

    bridged.apply(more(pod("next", "1"), main=PORT))
    assert "others have its ports" in bridged.wait_reason("next", "NoNodeFits")
    bridged.delete("pod", "here")
    wait_for(lambda: bridged.phases()["next"] == "Succeeded", "its turn comes", within=60)
    assert node_of(bridged.get("pod", "next")) == node


def candidates(bridged: Bridged, number: str) -> tuple[str, str]:
    job = bridged.queue()[number]
    return job["required_nodes"], job["excluded_nodes"]


def test_a_pod_runs_where_the_volume_is_that_waits_for_it(bridged: Bridged) -> None:
    kubectl = bridged.bridge.kubectl
    node = max(bridged.bridge.ready())
    bridged.apply(VOLUME.replace("NODE", node))
    try:
        writer = pod("writer").replace("sleep 300", "touch /data/written")
        bridged.apply(
            more(writer, spec=MOUNTED, main="volumeMounts: [{name: v, mountPath: /data}]")
        )
        done = bridged.wait_phases("Succeeded", 1)["writer"]
        assert node_of(done) == node
        assert bridged.get("persistentvolumeclaim", "pinned")["spec"]["volumeName"] == "pinned"
    finally:
        bridged.clear()
        bridged.delete("persistentvolumeclaim", "pinned")
        kubectl("delete", "persistentvolume/pinned", "storageclass/pinned", "--wait=false")
