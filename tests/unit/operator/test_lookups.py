import asyncio
import base64

from windlass.api.common import SecretKey
from windlass.kube import kinds, requests
from windlass.kube.wire import Anything
from windlass.mains import windlass
from windlass.operator.lookups import ClientLookups
from windlass.testing.fake_kube import FakeKube
from windlass.values.key import Key


def test_what_there_is_is_told_and_what_there_is_not_is_none() -> None:
    async def main() -> None:
        kube = FakeKube(windlass.now, [kinds.ACCOUNTING])
        namespace = {"metadata": {"name": "slurm"}}
        await kube.send(requests.create(kinds.NAMESPACE, "", namespace, Anything))
        files = {
            "metadata": {"name": "files"},
            "data": {"gres.conf": "AutoDetect=nvml"},
            "binaryData": {"blob": base64.b64encode(b"\0").decode()},
        }
        claim = {
            "metadata": {"name": "state"},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        await kube.send(requests.create(kinds.CONFIG_MAP, "slurm", files, Anything))
        await kube.send(requests.create(kinds.PERSISTENT_VOLUME_CLAIM, "slurm", claim, Anything))

        keyed = {"metadata": {"name": "db"}, "spec": {"slurmKeyRef": {"name": "s", "key": "k"}}}
        await kube.send(requests.create(kinds.ACCOUNTING, "slurm", keyed, Anything))

        lookups = ClientLookups(kube)
        keys = await lookups.keys(Key("slurm", "db"))
        assert keys is not None
        assert keys.slurm_key_ref == SecretKey(name="s", key="k")
        assert await lookups.keys(Key("slurm", "none")) is None
        assert await lookups.files(Key("slurm", "files")) == frozenset({"gres.conf", "blob"})
        assert await lookups.files(Key("slurm", "none")) is None
        assert await lookups.access_modes(Key("slurm", "state")) == frozenset({"ReadWriteMany"})
        assert await lookups.access_modes(Key("slurm", "none")) is None

    asyncio.run(main())
