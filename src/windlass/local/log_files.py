"""The logs of a cluster, by the names that people know the components by."""

from pathlib import Path

from windlass.local.errors import LocalError


def log_names(logs: Path) -> list[str]:
    """`kube-apiserver` for the control plane, `NODE/kubelet` for a node."""
    return sorted(str(path.relative_to(logs).with_suffix("")) for path in logs.rglob("*.log"))


def find_log(logs: Path, component: str) -> Path:
    """The file of a component; a bare `kubelet` will do where one node only has it."""
    names = log_names(logs)
    matches = [name for name in names if component in (name, name.rpartition("/")[2])]
    if len(matches) == 1:
        return logs / f"{matches[0]}.log"
    if matches:
        raise LocalError(f"{component} runs on several nodes; name one of: {', '.join(matches)}")
    raise LocalError(f"no log of {component}; there are: {', '.join(names) or 'none yet'}")
