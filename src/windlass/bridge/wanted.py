"""What a pod needs of Slurm once its annotations are heard.

An annotation may ask for more than the pod does, never for less: Slurm would then give away what
the pod goes on to use.
"""

from collections.abc import Iterator
from dataclasses import replace

from windlass.api.validation.findings import Finding, Problem
from windlass.bridge import annotations, words
from windlass.bridge.annotations import Wishes
from windlass.bridge.devices import DeviceMap
from windlass.bridge.resources import Assessment, Needs, assess, limits, requests
from windlass.kube.objects import PodSpec


def wanted(spec: PodSpec, wishes: Wishes, devices: DeviceMap) -> Assessment:
    found = assess(spec, devices)
    needs = replace(
        found.needs,
        cpus=wishes.cpus or found.needs.cpus,
        memory=wishes.memory or found.needs.memory,
        gres=found.needs.gres if wishes.gres is None else wishes.gres,
    )
    clashes = (*_less(found.needs, wishes), *_device_classes(spec, wishes))
    return Assessment(needs, (*found.findings, *clashes))


def _less(needs: Needs, wishes: Wishes) -> Iterator[Finding]:
    if wishes.cpus is not None and wishes.cpus < needs.cpus:
        yield _clash("cpu-per-task", f"the pod itself asks for {needs.cpus} CPUs")
    if wishes.memory is not None and wishes.memory < (needs.memory or 0):
        yield _clash("mem-per-node", f"the pod itself asks for {needs.memory} MiB")
    if wishes.gres is None:
        return
    for one in needs.gres:
        count = sum(wish.count for wish in wishes.gres if wish.name == one.name)
        if count < one.count:
            yield _clash("gres", f"the pod itself asks for {one}")


def _device_classes(spec: PodSpec, wishes: Wishes) -> Iterator[Finding]:
    """Devices that are chosen by class are counted by class; a second count could differ."""
    asked = {*requests(spec), *limits(spec)}
    if wishes.cpus is not None and words.DRA_CPU in asked:
        yield _clash("cpu-per-task", f"the pod asks for {words.DRA_CPU}")
    classes = sorted(each for each in asked if each.startswith(words.DEVICE_CLASS))
    if wishes.gres is not None and any(each != words.DRA_CPU for each in classes):
        yield _clash("gres", f"the pod asks for {classes[-1]}")


def _clash(name: str, sentence: str) -> Problem:
    field = annotations.field(words.JOB_PREFIX + name)
    return Problem(field, sentence, "raise the annotation or take it away")
