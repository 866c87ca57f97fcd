"""NodeSet: names of nodes, words for their lines, updates and volumes."""

import re
from collections.abc import Iterator
from typing import Any, Final

from windlass.api import durations
from windlass.api.node_set import NodeSet, NodeSetSpec, ScheduledUpdate
from windlass.api.validation import configuration, references
from windlass.api.validation.context import Context
from windlass.api.validation.findings import Caution, Finding, Problem
from windlass.values.malformed import Malformed

# A pod's host name is one DNS label of 63 characters, ordinal included.
_PREFIX: Final = re.compile(r"[a-z0-9][-a-z0-9]*")
LONGEST_PREFIX: Final = 57
_SHARE: Final = re.compile(r"([0-9]+)%")
SHORTEST: Final = 60.0


def review(new: NodeSet, old: NodeSet | None, context: Context) -> tuple[Finding, ...]:
    spec = new.spec
    return (
        *references.controller(spec.controller_ref, context.namespace),
        *_max_unavailable(spec.update_strategy.rolling_update.max_unavailable),
        *_schedule(spec.update_strategy.scheduled_update),
        *_ssh(spec),
        *_hostname((spec.template.spec or {}).get("hostname")),
        *configuration.words("spec.extraConf", spec.extra_conf, "NodeName"),
        *configuration.words("spec.partition.config", spec.partition.config, "PartitionName"),
        *_volumes(spec.volume_claim_templates or []),
        *(() if old is None else _changes(spec, old.spec)),
    )


def _max_unavailable(given: int | str) -> Iterator[Finding]:
    field = "spec.updateStrategy.rollingUpdate.maxUnavailable"
    fix = "write a number from 1, or a share such as 25%"
    share = _SHARE.fullmatch(given) if isinstance(given, str) else None
    if isinstance(given, str) and not share:
        yield Problem(field, f"{given!r} is neither a number nor a share", fix)
    elif (int(share[1]) if share else int(given)) < 1:
        yield Problem(field, "no worker could ever be updated", fix)


def _schedule(update: ScheduledUpdate | None) -> Iterator[Finding]:
    if update is None:
        return
    field = "spec.updateStrategy.scheduledUpdate.duration"
    try:
        length = durations.seconds(update.duration)
    except Malformed as error:
        yield Problem(field, error.problem, error.fix)
        return
    if length < SHORTEST:
        problem = f"{update.duration} is shorter than Slurm can reserve"
        yield Problem(field, problem, "write 1m or more")


def _ssh(spec: NodeSetSpec) -> Iterator[Finding]:
    if spec.ssh.enabled and spec.ssh.sssd_conf_ref is None:
        yield Caution(
            "spec.ssh.sssdConfRef",
            "it is not given, so only users of the image itself can log in",
            "name the Secret with sssd.conf",
        )


def _hostname(prefix: Any) -> Iterator[Finding]:
    if prefix in (None, ""):
        return
    field = "spec.template.spec.hostname"
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        yield Problem(
            field,
            f"{prefix!r} cannot begin the name of a node",
            "use lower-case letters, digits and -, beginning with a letter or digit",
        )
    elif len(prefix) > LONGEST_PREFIX:
        problem = f"it has {len(prefix)} characters, and the number of the worker follows"
        yield Problem(field, problem, f"use {LONGEST_PREFIX} at most")


def _volumes(templates: list[dict[str, Any]]) -> Iterator[Finding]:
    seen: set[Any] = set()
    for at, template in enumerate(templates):
        field = f"spec.volumeClaimTemplates[{at}].metadata.name"
        name = (template.get("metadata") or {}).get("name")
        if not name:
            yield Problem(field, "it is missing", "name it as the volume that is mounted")
        elif name in seen:
            yield Problem(field, f"there is another {name}", "rename one")
        seen.add(name)


def _changes(new: NodeSetSpec, old: NodeSetSpec) -> Iterator[Finding]:
    yield from references.controller_stays(new.controller_ref, old.controller_ref)
    if (new.volume_claim_templates or []) != (old.volume_claim_templates or []):
        yield Problem(
            "spec.volumeClaimTemplates",
            "they cannot be changed: workers that run have volumes made from them",
            "make another NodeSet",
        )
