"""A local cluster as its user has it: through the `windlass` command and kubectl."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windlass.local import remains
from windlass.local.cgroups import Cgroups, find_cgroups
from windlass.local.kubectl import Kubectl
from windlass.local.layout import Folders
from windlass.local.record import ClusterFolder
from windlass.local.remains import Remains
from windlass.local.waiting import wait_for

WINDLASS = Path(sys.executable).with_name("windlass")


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """One cluster by name; nothing is cached, every question asks the machine."""

    name: str
    folders: Folders
    program: Path
    """kubectl, as built for the cluster."""

    @property
    def folder(self) -> ClusterFolder:
        return ClusterFolder(self.folders.state, self.name)

    @property
    def cgroups(self) -> Cgroups:
        return find_cgroups(Path("/proc/self/mounts").read_text())

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(self.program, self.folder.kubeconfig)

    @property
    def nodes(self) -> list[str]:
        return [node.name for node in self.folder.require().nodes]

    def command(self, *words: str) -> list[str]:
        """The `windlass local` command line for this cluster."""
        own = {"node", "image"}
        verb = 2 if words[0] in own else 1
        return [str(WINDLASS), "local", *words[:verb], "--name", self.name, *words[verb:]]

    def local(self, *words: str) -> str:
        """Run a verb of `windlass local` and return what it printed."""
        done = self.run(*words)
        assert done.returncode == 0, (
            f"windlass local {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        )
        return done.stdout

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False)

    def remains(self) -> Remains:
        return remains.find(self.folder, self.cgroups)

    def processes(self) -> list[int]:
        return self.cgroups.processes(self.folder.cgroup)

    def namespaces(self) -> set[str]:
        """The network namespaces of the cluster's processes."""
        found = set()
        for pid in self.processes():
            link = Path(f"/proc/{pid}/ns/net")
            if link.exists():
                found.add(str(link.readlink()))
        return found

    def wait_for_pod(self, name: str, phase: str = "Running", namespace: str = "default") -> Any:
        """The pod, once it is in that phase and, if it runs, ready."""

        def there() -> Any:
            pod = self.kubectl.get("pod", name, "-n", namespace)
            if pod is None or pod["status"].get("phase") != phase:
                return None
            conditions = {c["type"]: c["status"] for c in pod["status"].get("conditions", [])}
            return pod if phase != "Running" or conditions.get("Ready") == "True" else None

        return wait_for(there, f"pod {namespace}/{name} is {phase}", within=120, every=0.3)

    def apply(self, *objects: dict[str, Any]) -> None:
        for each in objects:
            self.kubectl.apply(json.dumps(each))
