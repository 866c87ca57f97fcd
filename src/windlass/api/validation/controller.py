"""Controller: the cluster's name, keys, files, claim and configuration."""

from collections.abc import Iterator, Sequence
from typing import Final

from windlass.api import names
from windlass.api.common import Keys, LocalReference, SecretKey
from windlass.api.controller import Controller, ControllerSpec
from windlass.api.validation import configuration, references, services, words
from windlass.api.validation.context import Context
from windlass.api.validation.findings import Caution, Finding, Problem
from windlass.slurm.conf import SLURM_CONF

LONGEST_NAME: Final = 40
SHARED: Final = "ReadWriteMany"
# The operator writes these itself.
GENERATED: Final = frozenset({"slurm.conf", "slurmdbd.conf"})
FILES: Final = frozenset(
    [
        "acct_gather.conf",
        "burst_buffer.conf",
        "cgroup.conf",
        "cli_filter.lua",
        "gres.conf",
        "helpers.conf",
        "job_container.conf",
        "job_submit.lua",
        "mpi.conf",
        "namespace.yaml",
        "oci.conf",
        "plugstack.conf",
        "topology.conf",
        "topology.yaml",
    ]
)
OWNED: Final = frozenset(
    [
        "authtype",
        "clustername",
        "credtype",
        "slurmctldhost",
        "slurmctldport",
        "slurmdport",
        "slurmuser",
        "statesavelocation",
    ]
)


def review(new: Controller, old: Controller | None, context: Context) -> tuple[Finding, ...]:
    spec = new.spec
    return (
        *_name(new, context),
        *words.external(spec.external_config),
        *references.one_jwt_key(spec.jwt_key_ref, spec.jwt_hs256_key_ref),
        *_files(spec, context),
        *_scripts(spec, context),
        *_claim(spec, context),
        *configuration.lines("spec.extraConf", spec.extra_conf, SLURM_CONF, OWNED),
        *services.review(spec.service, "slurmctld", names.SLURMCTLD_PORT),
        *(() if old is None else _changes(new, old, context)),
    )


def config_maps(spec: ControllerSpec) -> tuple[str, ...]:
    """The ConfigMaps that a review wants to know."""
    refs = [ref for _, listed in (_file_refs(spec), *_script_refs(spec)) for ref in listed]
    return tuple(dict.fromkeys(ref.name for ref in refs if ref.name))


def claims(spec: ControllerSpec) -> tuple[str, ...]:
    """The PersistentVolumeClaims that a review wants to know."""
    claim = spec.persistence.existing_claim
    return (claim,) if spec.ha and spec.ha.enabled and claim else ()


def accountings(spec: ControllerSpec) -> tuple[str, ...]:
    """The Accountings that a review wants to know: whose keys may be the Controller's too."""
    ref = spec.accounting_ref
    own = spec.slurm_key_ref and spec.jwt_key
    return (ref.name,) if ref and ref.name and not own else ()


# --- the name ----------------------------------------------------------------------------------


def _name(new: Controller, context: Context) -> Iterator[Finding]:
    given = new.spec.cluster_name
    name = given or names.cluster(context.namespace, new.metadata.name)
    if len(name) > LONGEST_NAME:
        yield Problem(
            "spec.clusterName",
            f"{name} has {len(name)} characters, and Slurm takes {LONGEST_NAME}",
            "give a shorter one",
        )
    if given != given.lower():
        problem = f"Slurm writes it in lower case: {given.lower()}"
        yield Caution("spec.clusterName", problem, "write it so yourself")


# --- files -------------------------------------------------------------------------------------

Refs = tuple[str, Sequence[LocalReference]]


def _file_refs(spec: ControllerSpec) -> Refs:
    return "spec.configFileRefs", spec.config_file_refs or ()


def _script_refs(spec: ControllerSpec) -> tuple[Refs, ...]:
    return (
        ("spec.prologScriptRefs", spec.prolog_script_refs or ()),
        ("spec.epilogScriptRefs", spec.epilog_script_refs or ()),
        ("spec.prologSlurmctldScriptRefs", spec.prolog_slurmctld_script_refs or ()),
        ("spec.epilogSlurmctldScriptRefs", spec.epilog_slurmctld_script_refs or ()),
    )


def _files(spec: ControllerSpec, context: Context) -> Iterator[Finding]:
    field, refs = _file_refs(spec)
    seen: dict[str, str] = {}
    for at, ref in enumerate(refs):
        place = f"{field}[{at}].name"
        yield from _reference(Problem, place, ref.name, context)
        files = sorted(context.files.get(ref.name) or ())
        for file in files:
            yield from _file(place, ref.name, file)
            if seen.setdefault(file, ref.name) != ref.name:
                problem = f"{file} is in {seen[file]} and in {ref.name}"
                yield Caution(place, problem, "keep one of them")


def _file(place: str, config_map: str, file: str) -> Iterator[Finding]:
    if file in GENERATED:
        problem = f"{config_map} has a {file}, which the operator writes"
        yield Problem(place, problem, "put its lines into extraConf")
    elif file not in FILES:
        problem = f"{config_map} has a {file}, which is no file that Slurm looks for"
        yield Caution(place, problem, "look at its name")


def _scripts(spec: ControllerSpec, context: Context) -> Iterator[Finding]:
    for field, refs in _script_refs(spec):
        for at, ref in enumerate(refs):
            yield from _reference(Caution, f"{field}[{at}].name", ref.name, context)


def _reference(
    absent: type[Problem | Caution], place: str, name: str, context: Context
) -> Iterator[Finding]:
    if not name:
        yield Problem(place, "it is empty", "name a ConfigMap, or take the entry out")
    elif context.files.get(name, frozenset()) is None:
        yield absent(place, f"there is no ConfigMap {name} in {context.namespace}", "make it first")


# --- the claim ---------------------------------------------------------------------------------


def _claim(spec: ControllerSpec, context: Context) -> Iterator[Finding]:
    for claim in claims(spec):
        modes = context.claims.get(claim)
        if modes is not None and SHARED not in modes:
            yield Problem(
                "spec.persistence.existingClaim",
                f"several slurmctlds share {claim}, and its access modes are "
                f"{', '.join(sorted(modes)) or 'none'}",
                f"give a claim with {SHARED}",
            )


# --- changes -----------------------------------------------------------------------------------


def _changes(new: Controller, old: Controller, context: Context) -> Iterator[Finding]:
    before, now = _slurm_key(old, context), _slurm_key(new, context)
    if before != now:
        yield Problem(
            "spec.slurmKeyRef.name",
            f"it cannot be changed from {before}: daemons that run would be refused",
            "name that Secret, and put the new key into it",
        )
    yield from references.jwt_key_stays(_jwt_key(new, context), _jwt_key(old, context))
    yield from _persistence(new.spec, old.spec)


def _slurm_key(controller: Controller, context: Context) -> str:
    """Its own, else that of its Accounting, else the one that the operator makes."""
    for keys in (controller.spec, _shared(controller.spec, context)):
        if keys and keys.slurm_key_ref:
            return keys.slurm_key_ref.name
    return names.slurm_key(controller.metadata.name)


def _jwt_key(controller: Controller, context: Context) -> SecretKey:
    shared = _shared(controller.spec, context)
    made = SecretKey(name=names.jwt_key(controller.metadata.name), key="jwt.key")
    return controller.spec.jwt_key or (shared.jwt_key if shared else None) or made


def _shared(spec: ControllerSpec, context: Context) -> Keys | None:
    return context.keys.get(spec.accounting_ref.name) if spec.accounting_ref else None


def _persistence(new: ControllerSpec, old: ControllerSpec) -> Iterator[Finding]:
    why = "it cannot be changed: Slurm's state would stay behind"
    fix = "make a new Controller, and copy the state to it"
    if new.persistence.enabled != old.persistence.enabled:
        yield Problem("spec.persistence.enabled", why, fix)
    elif (
        new.persistence.enabled and new.persistence.existing_claim != old.persistence.existing_claim
    ):
        yield Problem("spec.persistence.existingClaim", why, fix)
