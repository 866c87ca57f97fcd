"""Workloads of a few seconds, for the stories."""


def pod(name: str, seconds: str = "300", *, cpu: str = "50m", **annotations: str) -> str:
    """A pod that sleeps; `annotations` are those of its job, with `_` for `-`."""
    said = "".join(
        f'\n    slurmjob.slinky.slurm.net/{key.replace("_", "-")}: "{value}"'
        for key, value in {"timelimit": "10", **annotations}.items()
    )
    return f"""
---
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  annotations:{said}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 2
  containers:
    - name: main
      image: IMAGE
      command: [sh, -c, "trap 'exit 0' TERM; sleep {seconds} & wait $!"]
      resources: {{requests: {{cpu: {cpu}, memory: 16Mi}}}}
"""


def more(manifest: str, *, spec: str = "", main: str = "") -> str:
    """The same pod, with a line more in its spec, and in its container."""
    with_spec = manifest.replace("\nspec:\n", f"\nspec:\n  {spec}\n", 1) if spec else manifest
    image = "      image: IMAGE\n"
    return with_spec.replace(image, f"{image}      {main}\n", 1) if main else with_spec


def on(node: str) -> str:
    return f"nodeSelector: {{kubernetes.io/hostname: {node}}}"


def template(indent: int, command: str = "sleep 3", **labels: str) -> str:
    """A pod template for an owner of pods."""
    shown = ", ".join(f"{key}: {value}" for key, value in labels.items())
    text = f"""metadata: {{labels: {{{shown}}}}}
spec:
  restartPolicy: RESTART
  terminationGracePeriodSeconds: 2
  containers:
    - name: main
      image: IMAGE
      command: [sh, -c, "{command}"]
      resources: {{requests: {{cpu: 50m, memory: 16Mi}}}}"""
    return text.replace("\n", "\n" + " " * indent)
